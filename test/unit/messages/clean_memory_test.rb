# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"

module Penstock
  class CleanMemoryTest < TestCase
    COUNT = 150
    # Prints by how many megabytes the process grew. A process of its own: where memory is free already, that is used first.
    PROGRAM = <<~RUBY
      require "etc"
      require "penstock/messages/memory_batch"
      require "penstock/messages/messages"
      MEGABYTE = 1 << 20
      Context = Struct.new(:payload, :text_parser)
      rows = Array.new(#{COUNT}) { |offset| Penstock::Messages::MemoryBatch::Row.new(offset: offset, payload: "small") }
      batch = Penstock::Messages::MemoryBatch.new("orders", 0, rows)
      batch.context = Context.new(->(message) { (message.offset % 10).to_s * MEGABYTE })
      messages = Penstock::Messages.new(batch)
      views = messages.to_a
      resident = -> { File.read("/proc/self/statm").split[1].to_f * Etc.sysconf(Etc::SC_PAGESIZE) / MEGABYTE }
      GC.start
      before = resident.call
      messages.each(clean: ARGV.first == "clean") do |message|
        raise "another payload" unless message.payload.bytesize == MEGABYTE
        GC.start if (message.offset % 10).zero? # freed memory is free at once
      end
      GC.start
      grown = resident.call - before
      raise "the messages aren't kept" unless views.size == #{COUNT}
      puts grown
    RUBY

    test "[each(clean: true)] resident memory doesn't grow with payloads of 1 MB, though the messages are kept" do
      cleaned, kept = %w[clean keep].map do |mode|
        output, result = TestSupport::RubyProgram.run(PROGRAM, mode)
        assert_predicate result, :success?, output
        Float(output)
      end

      assert_operator cleaned, :<, COUNT / 2
      assert_operator kept, :>, COUNT / 2
    end
  end
end
