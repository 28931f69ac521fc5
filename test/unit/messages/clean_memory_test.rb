# frozen_string_literal: true

require "test_helper"
require "etc"
require "penstock/messages/memory_batch"
require "penstock/messages/messages"
require "support/lanes"
require "support/own_process"

module Penstock
  class CleanMemoryTest < TestCase
    prepend TestSupport::OwnProcess

    Context = Struct.new(:payload, :text_parser)
    MEGABYTE = 1 << 20
    COUNT = 150

    test "[each(clean: true)] resident memory doesn't grow with payloads of 1 MB, though the messages are kept" do
      cleaned, kept = [true, false].map do |clean|
        growth_mb { |messages| messages.each(clean: clean) { |message| read(message) } }
      end

      assert_operator cleaned, :<, COUNT / 2
      assert_operator kept, :>, COUNT / 4 # memory that was free before is used first
    end

    private

    # Freed memory is free at once.
    def read(message)
      assert_equal MEGABYTE, message.payload.bytesize
      GC.start if (message.offset % 10).zero?
    end

    # @return [Float] while the messages of the batch are referenced
    def growth_mb
      messages = Messages.new(batch)
      views = messages.to_a
      GC.start
      before = resident_mb
      yield messages
      GC.start
      resident_mb - before + (views.size - COUNT)
    end

    def batch
      rows = Array.new(COUNT) { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "small") }
      Messages::MemoryBatch.new("orders", 0, rows).tap do |batch|
        batch.context = Context.new(->(message) { (message.offset % 10).to_s * MEGABYTE })
      end
    end

    def resident_mb = File.read("/proc/self/statm").split[1].to_f * Etc.sysconf(Etc::SC_PAGESIZE) / MEGABYTE
  end
end
