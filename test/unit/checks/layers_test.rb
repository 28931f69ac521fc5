# frozen_string_literal: true

require "test_helper"
require_relative "../../checks/layers"

class LayersCheckTest < Penstock::TestCase
  def problems(sources)
    files = sources.map { |path, text| Penstock::Checks::SourceFile.new("lib/penstock/#{path}", text) }
    Penstock::Checks::Layers.new(files).call.problems
  end

  test "a file may require files of layers above it" do
    assert_empty problems("runtime/loop.rb" => 'require_relative "../processing/lane"', "processing/lane.rb" => "")
  end

  test "a file that requires a file of a layer below it is reported with both layers" do
    found = problems("processing/lane.rb" => 'require_relative "../runtime/loop"', "runtime/loop.rb" => "")

    assert_equal 1, found.size
    assert_match(%r{processing/lane.rb \(processing\) requires lib/penstock/runtime/loop.rb: runtime is not above}, found[0])
  end

  test "a constant of a layer below counts like a require, a comment doesn't" do
    found = problems("messages/message.rb" => "# Runtime::Loop\nRuntime::Loop.new")

    assert_match(/names Runtime::Loop/, found.join)
    assert_equal 1, found.size
  end

  test "the name that a file defines doesn't count as a use of it" do
    assert_empty problems("messages/message.rb" => "module Penstock\nmodule Messages\nend\nend")
  end

  test "files that require each other are reported as a cycle" do
    found = problems("cli/a.rb" => 'require_relative "b"', "cli/b.rb" => 'require_relative "a"')

    assert_match(%r{ring: lib/penstock/cli/a.rb -> lib/penstock/cli/b.rb -> lib/penstock/cli/a.rb}, found.join)
  end

  test "a leaf may use any layer but no other leaf than the command line" do
    sources = {"testing/x.rb" => "Runtime::Loop\nCli::Registry\nWeb::Page"}

    assert_match(/names Web::Page: web is not above/, problems(sources).join)
    assert_equal 1, problems(sources).size
  end

  test "processing may not name threads, files, processes or native handles" do
    found = problems("processing/lane.rb" => "Thread.new { ::IO.pipe }\nProcess.pid\nNative::Lane")

    assert_equal %w[Thread IO Process Native], found.filter_map { |text| text[/names (\w+): processing/, 1] }
  end

  test "nothing above the composition root reads the global application" do
    assert_match(/reads Penstock.app/, problems("runtime/loop.rb" => "Penstock.app").join)
    assert_empty problems("application.rb" => "Penstock.app", "cli/x.rb" => "Penstock.producer")
  end

  test "a file that requires a class that is loaded on first use is reported, and one that names it isn't" do
    producer = {"producer.rb" => "module Penstock\nclass Producer\nend\nend"}
    by_path = {"application/x.rb" => "require_relative \"../producer\"", "cli/x.rb" => "require \"penstock/producer\""}
    found = problems(by_path.merge(producer)).filter_map { |text| text[%r{penstock/(\S+) requires .* load Producer by}, 1] }

    assert_equal %w[application/x.rb cli/x.rb], found
    assert_empty problems("application/x.rb" => "Penstock.load_constant :Producer\nProducer.new", **producer)
  end

  test "a file that requires a file that adds to such a class from outside of its folder is reported" do
    parts = {"messages/listed.rb" => "module Penstock\nclass Messages\nend\nend",
             "messages/messages.rb" => 'require_relative "listed"'}

    assert_empty problems(parts)
    found = problems(parts.merge("processing/x.rb" => 'require_relative "../messages/listed"'))

    assert_match(%r{processing/x.rb requires lib/penstock/messages/listed.rb: load Messages by its constant}, found.join)
  end

  test "a class that is loaded by its constant counts like a require" do
    found = problems("processing/lane.rb" => "Penstock.load_constant :Application")

    assert_match(%r{requires lib/penstock/application.rb: application is not above}, found.join)
  end

  test "a folder that is no layer is an error" do
    assert_raises(ArgumentError) { problems("helpers/x.rb" => "") }
  end
end
