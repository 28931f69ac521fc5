# frozen_string_literal: true

require "test_helper"
require "penstock/routing/topic_pattern"

class TopicPatternTest < Penstock::TestCase
  test "it matches from the beginning, the end is open" do
    pattern = pattern(/audit/)

    assert pattern.match?("audit.x")
    refute pattern.match?("my.audit")
    refute pattern(/audit$/).match?("audit.x")
  end

  test "both engines get the same meaning" do
    assert_equal ["^audit", "^audit.*"], told(/audit/)
    assert_equal ["^audit", "^audit.*"], told(/^audit/)
    assert_equal ["^audit.*", "^audit.*"], told(/audit.*/)
    assert_equal ["^audit$", "^audit$"], told(/audit$/)
  end

  test "the second of two alternatives is anchored to the beginning too" do
    assert_equal ["^(a|b)", "^(a|b).*"], told(/a|b/)
    refute pattern(/a|b/).match?("xb")
  end

  test "[RE2 vs POSIX] syntax that differs between engines is reported with a text" do
    {
      /a\d/ => "[0-9]", /a\w+/ => "[A-Za-z0-9_]", /a\s/ => "no spaces", /\Aa/ => "matches from the beginning",
      /a\z/ => "matches from the beginning", /(?!a)b/ => "plain parentheses", /(?:a)/ => "plain parentheses",
      /a.*?b/ => "write it plain", /(a)\1/ => "back reference", /\p{Alpha}/ => "class of characters by name",
      /a/i => "write both cases"
    }.each do |regexp, words|
      assert_match(/#{Regexp.escape(words)}/, pattern(regexp).complaints.join, regexp.inspect)
    end
  end

  test "syntax of all engines is allowed" do
    [/audit\..*/, /a[0-9]+b?/, /(a|b)_[a-z]{2,3}$/, /a\\d/].each { |regexp| assert_empty pattern(regexp).complaints }
  end

  test "the name of an unnamed pattern changes only with its expression" do
    assert_equal pattern(/a/).default_name, pattern(/a/).default_name
    refute_equal pattern(/a/).default_name, pattern(/b/).default_name
    assert_match(/\Apenstock-pattern-[0-9a-f]{12}\z/, pattern(/a/).default_name)
  end

  private

  def pattern(regexp) = Penstock::Routing::TopicPattern.new(regexp)

  def told(regexp) = [pattern(regexp).subscription, pattern(regexp).full_subscription]
end
