# frozen_string_literal: true

require "test_helper"
require "penstock/producer/buffer"
require "penstock/producer/flush"

class ProducerFlushTest < Penstock::TestCase
  Buffer = Penstock::Producer::Buffer

  def setup
    super
    @buffer = Buffer.new
    @buffer.add(%w[a b c])
    @flush = Penstock::Producer::Flush.new(@buffer)
  end

  def prepared = @flush.prepare(&:upcase)

  test "messages run through middleware once, and all are gone when the client has accepted them" do
    assert_equal(:sent, @flush.run { @flush.accepted.concat(prepared) && :sent })
    assert_empty @buffer
    assert_nil Penstock::Producer::Flush.new(@buffer).run { flunk }
  end

  test "messages that weren't accepted go back, before those that were buffered meanwhile" do
    assert_raises(KeyError) do
      @flush.run do
        prepared
        @buffer.add(%w[d])
        @flush.accepted << true
        raise KeyError
      end
    end
    assert_equal %w[B C d], @buffer.to_a
    assert_equal [%w[B C], %w[d]], @buffer.take.to_h.values
  end

  test "a middleware that ends in any exception, or throws, loses nothing" do
    [-> { raise NotImplementedError }, -> { throw :away }].each do |ending|
      catch(:away) do
        Penstock::Producer::Flush.new(@buffer).tap do |flush|
          flush.run { flush.prepare { |message| (message == "b") ? ending.call : message } }
        end
      rescue NotImplementedError
        nil
      end
      assert_equal %w[a b c], @buffer.to_a
    end
  end

  test "an interrupt loses no message and doubles none, wherever it comes" do
    200.times do |number|
      buffer = Buffer.new
      buffer.add((0..20).to_a)
      sent = []
      begun = Queue.new
      thread = Thread.new do
        begun << true
        flush = Penstock::Producer::Flush.new(buffer)
        flush.run do
          flush.sending(flush.prepare { |message| message }).each do |message|
            Thread.handle_interrupt(Object => :never) { sent << message && flush.accepted << true }
          end
        end
      rescue ZeroDivisionError
        nil
      end
      begun.pop
      (number * 7).times { nil }
      thread.raise(ZeroDivisionError) if thread.alive?
      thread.join
      assert_equal (0..20).to_a, (sent + buffer.to_a)
    end
  end

  test "each alone: an interrupted message that the client has accepted isn't put back, and nil is a message like any other" do
    buffer = Buffer.new
    buffer.add(["bad", nil, "good", "late", "last"])
    flush = Penstock::Producer::Flush.new(buffer)
    seen = []
    assert_raises(Interrupt) do
      flush.run do
        flush.each_alone do |message, _ready|
          seen << message
          raise KeyError if message == "bad" || message.nil?
          flush.accepted << true
          raise Interrupt if message == "late"
        end
      end
    end
    assert_equal ["bad", nil, "good", "late"], seen
    assert_equal ["bad", nil, "last"], buffer.to_a
  end

  test "each alone: many messages that stay are no arguments of one call" do
    buffer = Buffer.new
    buffer.add(Array.new(300_000) { {} })
    flush = Penstock::Producer::Flush.new(buffer)
    flush.run { flush.each_alone { raise KeyError } }
    assert_equal 300_000, buffer.size
  end

  test "each alone: those for which the block raises stay, in order, with the error" do
    assert_raises(KeyError) do
      @flush.run do
        @flush.prepare { |message| (message == "b") ? raise(KeyError) : message.upcase }
      end
    end
    seen = []
    second = Penstock::Producer::Flush.new(@buffer)
    errors = second.run do
      second.each_alone do |message, ready|
        seen << [message, ready]
        raise NotImplementedError, "no" if message == "b"
      end
    end
    assert_equal [["A", true], ["b", false], ["c", false]], seen
    assert_equal [["b"], [NotImplementedError]], [errors.keys, errors.values.map(&:class)]
    assert_equal %w[b], @buffer.to_a
  end
end
