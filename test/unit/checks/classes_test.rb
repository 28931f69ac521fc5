# frozen_string_literal: true

require "test_helper"
require_relative "../../checks/classes"

module Penstock
  # The members that bin/check classes counts, the shared state and the changes that it finds.
  class ClassesCheckTest < TestCase
    def problems(*sources, **exceptions)
      files = sources.each_with_index.to_h { |source, index| ["lib/#{index}.rb", source] }
      Checks::Classes.new(files, exceptions: exceptions.transform_keys(&:to_s)).call.problems
    end

    def methods(count, of = 0) = Array.new(count) { |index| "def m#{of + index} = nil\n" }.join

    test "a class may have 40 public members; private ones, its initializer, class methods and what every object has don't count" do
      source = "class A\ndef initialize; end\ndef self.x; end\ndef inspect = nil\n#{methods(40)}private\n#{methods(9, 50)}end"
      assert_empty problems(source)
      assert_equal ["lib/0.rb A has 41 public members, over 40"], problems("class A\n#{methods(41)}end")
    end

    test "an attribute is one member, whether it is read, written or both" do
      assert_empty problems("class A\nattr_accessor :a, :b\nattr_reader :c\nattr_writer :c\n#{methods(37)}end")
      assert_equal 1, problems("class A\nattr_accessor :a, :b\nattr_reader :c\n#{methods(38)}end").size
    end

    test "methods made private later, delegated methods and those of a reopened class are known" do
      assert_empty problems("class A\n#{methods(41)}private :m40\nend")
      assert_empty problems("class A\n#{methods(40)}private def x = 1\nprivate attr_reader :y\nend")
      assert_equal 1, problems("class A\n#{methods(40)}def_delegators :@x, :y\nend").size
      assert_equal 1, problems("class A\n#{methods(30)}end", "class A\n#{methods(11, 50)}end").size
    end

    test "members of a mixin count for the class that includes it" do
      assert_equal ["lib/0.rb A has 41 public members, over 40"],
        problems("class A\ninclude B\n#{methods(21)}end", "module B\n#{methods(20, 50)}end")
    end

    test "an exception has a limit of its own, and is a problem where it isn't needed" do
      limit = {"A" => {"limit" => 45}}
      assert_empty problems("class A\n#{methods(45)}end", members: limit)
      assert_match(/A has 46 public members, over 45/, problems("class A\n#{methods(46)}end", members: limit).join)
      assert_equal ["classes.yml, members: A needs no exception"], problems("class A\n#{methods(40)}end", members: limit)
    end

    test "a mixin with one includer may have variables of its own, but none of its includer's" do
      assert_equal ["lib/1.rb A::B is only included by A and uses its @x"],
        problems("class A\ninclude B\ndef a = @x = 1\nend", "class A\nmodule B\ndef b = @x\nend\nend")
      assert_empty problems("class A\ninclude B\ndef a = @x = 1\nend", "module B\ndef b = @y ||= 1\nend")
      assert_empty problems("class A\ninclude B\ndef a = @x\nend", "class C\ninclude B\ndef c = @x\nend",
        "module B\ndef b = @x\nend")
    end

    test "a method that ends in ? assigns nothing, fills nothing, and calls no method of its class that does" do
      changes = {"def a? = @x = 1" => "@x", "def a? = @x += 1" => "@x", "def a? = @x << 1" => "@x", "def a? = @x[1] = 2" => "@x",
                 "def a? = @x.delete(1)" => "@x", "def a? = @x.items.clear" => "@x", "def a? = @x.stop!" => "@x",
                 "def a? = b\ndef b = @y = 1" => "@y"}
      changes.each do |source, variable|
        assert_equal ["lib/0.rb:2 A#a? changes #{variable}"], problems("class A\n#{source}\nend"), source
      end
    end

    test "memoized answers, local variables, negations and comparisons are no changes" do
      ["def a? = @x ||= 1", "def a? = !@x", "def a? = @x == 1", "def a? = @x != 1", "def a?\nlist = []\nlist << @x\nend",
        "def a? = @x.dup.empty?"].each { |source| assert_empty problems("class A\n#{source}\nend"), source }
      assert_empty problems("class A\ndef a? = @x = 1\nend", predicates: {"A#a?" => "a reason"})
    end
  end
end
