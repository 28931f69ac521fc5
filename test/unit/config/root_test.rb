# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "pathname"
require "tmpdir"
require "penstock"
require "penstock/config/root"

# The application's folder. See also boot_file_test.rb, which looks for files there.
class ConfigRootTest < Penstock::TestCase
  Root = Penstock::Config::Root

  test "the variable wins, relative to the current folder; then the Gemfile above; then the current folder" do
    named = {"PENSTOCK_ROOT_DIR" => "../shop", "BUNDLE_GEMFILE" => "/srv/app/Gemfile"}

    assert_equal "/srv/shop", Root.path(env: named, dir: "/srv/app")
    assert_equal "/srv/app", Root.path(env: {"BUNDLE_GEMFILE" => "/srv/app/Gemfile"}, dir: "/srv/app/lib/deep")
    assert_equal "/srv/app", Root.path(env: {"BUNDLE_GEMFILE" => "/elsewhere/Gemfile"}, dir: "/srv/app")
  end

  test "a Rails application below the Gemfile is found from its folders; the Gemfile's folder from the others" do
    Dir.mktmpdir do |dir|
      %w[shop/config shop/lib tools].each { |path| FileUtils.mkdir_p(File.join(dir, path)) }
      FileUtils.touch(File.join(dir, "shop/config/environment.rb"))
      env = {"BUNDLE_GEMFILE" => File.join(dir, "Gemfile")}
      found = ["shop", "shop/lib", "tools", "."].map { |path| Root.path(env: env, dir: File.expand_path(path, dir)) }

      assert_equal [File.join(dir, "shop")] * 2 + [dir] * 2, found
    end
  end

  test "Penstock.root is a Pathname" do
    assert_equal [Pathname, Root.path], [Penstock.root.class, Penstock.root.to_s]
  end
end
