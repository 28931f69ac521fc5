# frozen_string_literal: true

require "test_helper"
require_relative "../support/command_line"

# Every example runs to its end and prints what it is meant to show.
class ExamplesTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  EXAMPLES = {
    "quickstart" => ["produced 10 messages", /greetings\/\d at \d: number 10/],
    "retries" => ["attempt 2 of 2: the bank is closed", "attempt 3 of 2: paid 500", "attempt 1 of 3: paid 30"],
    "manual_offsets" => ["writing 250 clicks, up to offset 249", "writing 250 clicks, up to offset 999"]
  }.freeze

  test "every program in examples/ is run here" do
    assert_equal EXAMPLES.keys.sort, Dir[File.join(ROOT, "examples/*.rb")].map { |path| File.basename(path, ".rb") }.sort
  end

  EXAMPLES.each do |name, expected|
    test "#{name} ends with exit code 0 and shows its subject" do
      out, err, status = Open3.capture3(CLEAN, RbConfig.ruby, File.join(ROOT, "examples/#{name}.rb"), chdir: @dir)

      assert_equal 0, status.exitstatus, err
      expected.each { |text| assert_match(text, out) }
    end
  end

  test "in retries no paid order is paid again" do
    out, = Open3.capture2(CLEAN, RbConfig.ruby, File.join(ROOT, "examples/retries.rb"), chdir: @dir)

    assert_equal %w[10 20 500 30], out.scan(/paid (\d+)/).flatten
  end
end
