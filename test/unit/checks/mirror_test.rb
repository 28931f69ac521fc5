# frozen_string_literal: true

require "test_helper"
require_relative "../../checks/mirror"

module Penstock
  # Where bin/check mirror wants the tests of a file, and which files may share tests.
  class MirrorCheckTest < TestCase
    BASE = %w[lib/penstock/cli/table.rb test/unit/cli/table_test.rb lib/penstock/clock.rb test/unit/clock_test.rb].freeze

    def problems(*paths, elsewhere: [], together: [])
      Checks::Mirror.new([*BASE, *paths], exceptions: {"elsewhere" => elsewhere, "together" => together}).call.problems
    end

    def entry(files, count, by = "test/unit/clock_test.rb")
      {"files" => files, "count" => count, "by" => by, "reason" => "a reason"}
    end

    test "a test stands where its file stands, and may name an aspect of it" do
      assert_empty problems("test/unit/clock_jumps_test.rb", "test/unit/cli/table_width_test.rb")
      assert_equal ["test/unit/table_test.rb: lib/penstock/table.rb doesn't exist; name the test after the file that it tests"],
        problems("test/unit/table_test.rb")
    end

    test "an aspect alone counts as a test of its file" do
      assert_empty problems("lib/penstock/deadline.rb", "test/unit/deadline_expired_test.rb")
    end

    test "a new file without a test is refused, with the name of the test" do
      assert_equal ["lib/penstock/cli/new.rb has no unit test: write test/unit/cli/new_test.rb"],
        problems("lib/penstock/cli/new.rb")
    end

    test "a new file in a folder whose files share tests is refused too: their number is known" do
      assert_empty problems("lib/penstock/cli/new.rb", together: [entry("cli/*", 1)])
      found = problems("lib/penstock/cli/new.rb", "lib/penstock/cli/newer.rb", together: [entry("cli/*", 1)])
      assert_equal "mirror.yml, together: cli/* has 1 files, now 2: write a test of its own for a new one, or change the number",
        found.join
    end

    test "a pattern stays in its folder" do
      assert_equal 2, problems("lib/penstock/cli/deep/new.rb", together: [entry("cli/*", 1)]).size
      assert_empty problems("lib/penstock/cli/deep/new.rb", together: [entry("cli/**/*", 1)])
    end

    test "entries that nothing needs, and tests that don't exist, are problems" do
      assert_equal ["mirror.yml, together: gone matches no file without a test"], problems(together: [entry("gone", 1)])
      assert_equal ["mirror.yml, elsewhere: gone matches no test without a file"], problems(elsewhere: [{"tests" => "gone"}])
      assert_equal ["mirror.yml, together: new: there is no test/unit/x_test.rb"],
        problems("lib/penstock/new.rb", together: [entry("new", 1, "test/unit/x_test.rb")])
    end

    test "a test of something else than a file is listed with its reason" do
      assert_empty problems("test/unit/docs/pictures_test.rb", elsewhere: [{"tests" => "docs/*", "reason" => "pages"}])
    end
  end
end
