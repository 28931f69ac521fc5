# frozen_string_literal: true

require "test_helper"
require "penstock/swarm/mold"

module Penstock
  module Swarm
    # A mold's reports of a warm-up that failed. Everything else needs processes.
    class MoldTest < TestCase
      # Fails at the start of a warm-up.
      Application = Struct.new(:error) do
        def monitor = self
        def server_id = "s"
        def instrument(*) = raise(error)
      end

      # @return [Array<Message::Failed>] the messages to its supervisor
      def heard_of(error)
        ours, theirs = UNIXSocket.pair(:SEQPACKET)
        mold = Mold.new(Application.new(error), Mold::Inheritance.new(socket: theirs))
        refute mold.send(:warm_up)
        found = []
        Frame::Parser.new.feed(ours.recv(Frame::MAX_BYTES)) { |message| found << message }
        found
      ensure
        [ours, theirs].each(&:close)
      end

      def rows_of(error)
        found = heard_of(error)
        assert_equal [Message::Failed], found.map(&:class)
        found.first.problems
      end

      def configuration(*messages) = ConfigurationError.new(messages.map { |text| Problem.new("swarm", text, text) })

      test "every problem in the mold's warm-up is reported as text" do
        assert_equal [["swarm", "not so", "not so"]], rows_of(configuration("not so"))
        assert_match(/warm-up failed with IOError: gone/, rows_of(IOError.new("gone")).first[1])
        assert_match(/LoadError: no such file/, rows_of(LoadError.new("no such file")).first[1])
      end

      test "many problems, long ones, and those that JSON makes longer are reported as far as they fit" do
        long = "\u65e5" * 200
        assert_equal [["swarm", "\u65e5" * 66, "\u65e5" * 66]] * 4, rows_of(configuration(*[long] * 5))
        assert_equal [["swarm", "\u0001" * 200, "\u0001" * 200]], rows_of(configuration(*["\u0001" * 300] * 4))
      end

      test "an error message that isn't valid UTF-8 is reported all the same" do
        assert_match(/IOError: caf\uFFFD\z/, rows_of(IOError.new("caf\xE9")).first[1])
        assert_match(/IOError: caf\u00e9\z/, rows_of(IOError.new("caf\u00e9".b)).first[1])
      end
    end
  end
end
