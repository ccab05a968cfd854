// Goal: Prometheus's text is read as its format says, and what is none is refused by line. Method:
// small texts.

#include "tools/ringtop/exposition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace ringtop {
namespace {

TEST(Exposition, ReadsValuesLabelsAndTimes) {
  Samples samples;
  ASSERT_EQ(parse("# TYPE a counter\n"
                  "a 1\n"
                  "\n"
                  "  a_b:c{x=\"1\",y=\"two\"}  2.5e3\r\n"
                  "a{ x = \"\" , } 3 1700000000000\n"
                  "big +Inf\n"
                  "odd NaN\n"
                  "less -4",
                  samples),
            0u);
  EXPECT_EQ(samples.size(), 6u);
  EXPECT_EQ(value_of(samples, "a"), 1);
  EXPECT_EQ(sum_of(samples, "a"), 4);
  EXPECT_EQ(sum_of(samples, "a_b:c"), 2500);
  const Sample& labelled = samples.find("a_b:c{x=\"1\",y=\"two\"}")->second;
  EXPECT_EQ(labelled.label("x"), "1");
  EXPECT_EQ(labelled.label("y"), "two");
  EXPECT_EQ(labelled.label("z"), "");
  EXPECT_TRUE(std::isinf(value_of(samples, "big")));
  EXPECT_TRUE(std::isnan(value_of(samples, "odd")));
  EXPECT_EQ(value_of(samples, "less"), -4);
  EXPECT_EQ(value_of(samples, "nothing"), 0);
}

TEST(Exposition, UnescapesLabels) {
  Samples samples;
  ASSERT_EQ(parse(R"(a{m="q\"b\\n\n{},="} 1)", samples), 0u);
  EXPECT_EQ(samples.begin()->second.label("m"), "q\"b\\n\n{},=");
}

TEST(Exposition, MetricsWithTheSameBeginningAreToldApart) {
  Samples samples;
  ASSERT_EQ(parse("a 1\na_total 2\naa 4\na{x=\"1\"} 8\nab{x=\"1\"} 16\n", samples), 0u);
  EXPECT_EQ(sum_of(samples, "a"), 9);
  EXPECT_EQ(sum_of(samples, "a_total"), 2);
  EXPECT_EQ(sum_of(samples, "ab"), 16);
}

TEST(Exposition, NamesTheFirstLineThatIsNoSample) {
  for (const char* bad : {"a", "a ", "a x", "a 1 x", "a 1 2 3", "1a 2", "{x=\"1\"} 2", "a{x} 1",
                          "a{x=1} 1", "a{x=\"1} 1", "a{x=\"1\" 1", "a{x=\"1\\", "a{=\"1\"} 1",
                          "a{x=\"1\"y=\"2\"} 1", "a 0x1", "<html>", "a ++1"}) {
    Samples samples;
    EXPECT_EQ(parse("ok 1\n" + std::string(bad) + "\nok 2\n", samples), 2u) << bad;
    EXPECT_EQ(parse(bad, samples), 1u) << bad;
  }
  Samples samples;
  EXPECT_EQ(parse("", samples), 0u);
  EXPECT_TRUE(samples.empty());
}

}  // namespace
}  // namespace ringtop
