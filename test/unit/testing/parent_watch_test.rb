# frozen_string_literal: true

require "test_helper"
require "penstock/testing/parent_watch"

module Penstock
  module Testing
    class ParentWatchTest < TestCase
      def setup
        super
        @reader, @writer = IO.pipe
        @ended = Thread::Queue.new
      end

      def teardown
        [@reader, @writer].each(&:close)
        super
      end

      def watch(parent = -> { 1 }) = @watch = ParentWatch.new(@reader, parent: parent) { @ended << :ended }

      test "[Puma plugin] the end of the pipe is the parent's; what it writes isn't" do
        watch
        @writer.write("text")
        Thread.pass until @reader.nread.zero?
        assert_empty @ended

        @writer.close
        @watch.join
        assert_equal 1, @ended.size
      end

      test "[Puma plugin] another parent is the parent's end, though somebody holds the pipe open" do
        parents = [7, 7, 1]
        watch(-> { (parents.size > 1) ? parents.shift : parents.first })
        @writer.write("text")
        @watch.join

        assert_equal 1, @ended.size
        refute @writer.closed?
      end
    end
  end
end
