#include "meshwright/core/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright {
namespace {
using namespace literals;
using testing::AllOf;
using testing::HasSubstr;

template <class Q>
std::string refusal(std::string_view text) {
  return meshwright::refusal([&] { parse_quantity<Q::dimension>(text, "--flag"); });
}

TEST(ParseQuantity, TakesTheSpellingsOfTheField) {
  EXPECT_EQ(parse_quantity<BytesPerSecond::dimension>("400 Gb/s", ""), 50_GBps);
  EXPECT_EQ(parse_quantity<BytesPerSecond::dimension>("400Gbps", ""), 50_GBps);
  EXPECT_EQ(parse_quantity<BytesPerSecond::dimension>(" 3.35 TB/s ", ""), 3350_GBps);
  EXPECT_EQ(parse_quantity<Bytes::dimension>("80GiB", ""), 80_GiB);
  EXPECT_EQ(parse_quantity<Bytes::dimension>("80 GB", ""), 80_GB);
  EXPECT_EQ(parse_quantity<Seconds::dimension>("2.5 us", ""), 2.5_us);
  EXPECT_EQ(parse_quantity<FlopsPerSecond::dimension>("989 TFLOP/s", ""), 989_TFLOPps);
  EXPECT_DOUBLE_EQ(parse_quantity<Dollars::dimension>("$30000", "").value(), 30000);
  EXPECT_DOUBLE_EQ(parse_quantity<Dollars::dimension>("$4.7M", "").value(), 4.7e6);
  EXPECT_DOUBLE_EQ(parse_quantity<Dollars::dimension>("$ 4.7 M$", "").value(), 4.7e6);
  EXPECT_DOUBLE_EQ(parse_quantity<DollarsPerJoule::dimension>("0.08 $/kWh", "").value(), 0.08 / 3.6e6);
  EXPECT_DOUBLE_EQ(parse_quantity<DollarsPerJoule::dimension>("$0.08/kWh", "").value(), 0.08 / 3.6e6);
  EXPECT_DOUBLE_EQ(parse_quantity<DollarsPerSecond::dimension>("$2.50/h", "").value(), 2.5 / 3600);
}

TEST(ParseQuantity, RefusesWithTheUnitsThatItTakes) {
  EXPECT_THAT(refusal<BytesPerSecond>("400"), AllOf(HasSubstr("--flag"), HasSubstr("bare number"), HasSubstr("Gb/s")));
  EXPECT_THAT(refusal<BytesPerSecond>("400 GBs"), AllOf(HasSubstr("'GBs'"), HasSubstr("did you mean 'GB/s'")));
  EXPECT_THAT(refusal<BytesPerSecond>("400 GB"), HasSubstr("expected a bandwidth"));
  EXPECT_THAT(refusal<Bytes>("80 Gb"), HasSubstr("expected a size"));
  EXPECT_THAT(refusal<Seconds>("-1 s"), HasSubstr("expected a time"));
  EXPECT_THAT(refusal<Seconds>("1e400 s"), HasSubstr("expected a time"));
  EXPECT_THAT(refusal<Seconds>("nan s"), HasSubstr("expected a time"));
  EXPECT_THAT(refusal<Seconds>(""), HasSubstr("expected a time"));
  EXPECT_THAT(refusal<Watts>("700 W W"), HasSubstr("expected a power"));
  EXPECT_THAT(refusal<DollarsPerSecond>("$2.50"), AllOf(HasSubstr("bare number"), HasSubstr("$/h")));
  EXPECT_THAT(refusal<Bytes>("$80GB"), HasSubstr("expected a size"));
}

TEST(ParseQuantity, RefusesWhatIsBeyondAnythingReal) {
  EXPECT_THAT(refusal<Bytes>("1e308 GB"), AllOf(HasSubstr("--flag"), HasSubstr("1e308 GB"), HasSubstr("from")));
  EXPECT_THAT(refusal<Bytes>("1e16 GB"), HasSubstr("expected a size"));
  EXPECT_THAT(refusal<BytesPerSecond>("1e-300 GB/s"), HasSubstr("expected a bandwidth"));
  EXPECT_THAT(refusal<Dollars>("$ 1e300"), HasSubstr("expected an amount of money"));
  EXPECT_EQ(parse_quantity<Bytes::dimension>("0 GB", "").value(), 0);
}

TEST(Format, ReadsWell) {
  EXPECT_EQ(format(91.2_GB), "91.2 GB");
  EXPECT_EQ(format(999.96_GB), "1.00 TB");
  EXPECT_EQ(format(450_GBps), "450 GB/s");
  EXPECT_EQ(format(400_TFLOPps), "400 TFLOP/s");
  EXPECT_EQ(format(4.314_s), "4.31 s");
  EXPECT_EQ(format(12.74_ms), "12.7 ms");
  EXPECT_EQ(format(Seconds{}), "0 s");
  EXPECT_EQ(format(Dollars::base(1.25e6)), "$1.25 M");
  EXPECT_EQ(format_count(405.85e9), "406 B");
  EXPECT_EQ(format_percent(0.417), "41.7 %");
  EXPECT_EQ(format(Joules::base(600436)), "600 kJ");
  EXPECT_EQ(format_rate(198.73), "198.7");
  EXPECT_EQ(format_rate(9723.4), "9723");
  EXPECT_EQ(format_rate(13310), "13.3 k");
}

TEST(Format, FiguresByTheUnitOfTheirTerm) {
  EXPECT_EQ(format_in(4.314, "s"), "4.31 s");
  EXPECT_EQ(format_in(91.2e9, "B"), "91.2 GB");
  EXPECT_EQ(format_in(1.25e6, "$"), "$1.25 M");
  EXPECT_EQ(format_in(700, "W"), "700 W");
  EXPECT_EQ(format_in(0.417, "%"), "41.7 %");
  EXPECT_EQ(format_in(405.9e9, ""), format_count(405.9e9));
  EXPECT_THAT(meshwright::refusal([] { format_in(1, "seconds"); }), HasSubstr("unknown unit 'seconds'"));
}

TEST(ParseMessageSize, IsBinaryAsInNcclTests) {
  EXPECT_EQ(parse_message_size("1K", ""), 1_KiB);
  EXPECT_EQ(parse_message_size("8G", ""), 8_GiB);
  EXPECT_EQ(parse_message_size("512", ""), 512_B);
  EXPECT_EQ(parse_message_size("4MiB", ""), 4_MiB);
  EXPECT_THROW(parse_message_size("12 parsecs", "-b"), Error);
  EXPECT_THROW(parse_message_size("-8", "-b"), Error);
  EXPECT_THROW(parse_message_size("", "-b"), Error);
  EXPECT_THROW(parse_message_size("1e308T", "-b"), Error);
  EXPECT_THROW(parse_message_size("nan", "-b"), Error);
  EXPECT_EQ(parse_message_size("1024T", "").value(), 1125899906842624.0);
}

}  // namespace
}  // namespace meshwright
