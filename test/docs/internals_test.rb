# frozen_string_literal: true

require "test_helper"

# The pages about the code name files and methods that exist, so that a rename doesn't leave them out of date.
class DocsInternalsTest < Penstock::TestCase
  ROOT = File.expand_path("../..", __dir__)
  PAGES = Dir["docs/internals{,/*}.md", base: ROOT].sort.freeze
  # Files and folders; those in tmp/ are written by tests.
  PATH = %r{\A(?!tmp/)(?:(?:[a-z_0-9]+/)*[a-z_0-9*]+\.(?:rb|c|h|md|yml)|(?:[a-z_0-9]+/)+)\z}
  METHOD = /\A(?:[A-Z]\w*::)*(?<owner>[A-Z]\w*)#(?<name>[a-z_]+[?!]?)\z/

  PAGES.each do |page|
    test "the files that #{page} names exist" do
      assert_equal [], code(page).grep(PATH).reject { |path| exists?(path) }
    end

    test "the methods that #{page} names exist" do
      missing = code(page).grep(METHOD).reject { |text| method_of?(*text.match(METHOD).values_at(:owner, :name)) }

      assert_equal [], missing
    end
  end

  private

  def code(page) = File.read(File.join(ROOT, page), encoding: "UTF-8").scan(/`([^`\n]+)`/).flatten.uniq

  # A path may leave out the folders that its page is about.
  def exists?(path)
    name = Regexp.escape(path.chomp("/")).gsub("\\*", "[^/\n]*")
    paths.match?(%r{(?:^|/)#{name}$})
  end

  def paths
    @@paths ||= Dir["{lib,ext,test,docs,exe,rakelib}{,/**/*}", base: ROOT].join("\n")
  end

  def lib
    @@lib ||= Dir[File.join(ROOT, "lib/**/*.rb")].map { |path| File.read(path, encoding: "UTF-8") }.join("\n")
  end

  # One of Ruby, or one that is defined somewhere in lib.
  def method_of?(owner, name)
    return true if Object.const_defined?(owner) && Object.const_get(owner).method_defined?(name)
    lib.match?(/(?:class|module) (?:\w+::)*#{owner}\b|\b#{owner} = Struct/) &&
      lib.match?(/(?:def |attr_\w+ .*:|Struct\.new\([^)]*:)#{Regexp.escape(name)}(?![\w?!])/)
  end
end
