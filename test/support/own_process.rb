# frozen_string_literal: true

require "minitest"
require_relative "wait"

module Penstock
  module TestSupport
    # Runs each test of a class in an OS process of its own: a fork of the test's process, which itself never has a
    # client. Remains of one scenario (a thread that hangs, a crash, native memory) can't affect the next, and each is
    # checked for leaks by itself. A child that doesn't end is killed, by number, and its test fails.
    #
    # The class's fixtures stay where they are: an embedded broker has its own process anyway, and children may use it.
    module OwnProcess
      # How long a test may take, in {Wait}'s seconds.
      module Limit
        def limit_seconds = 150
      end

      def self.prepended(base) = base.extend(Limit)

      # @return [Minitest::Result] as the child had it
      def run
        reader, writer = IO.pipe(binmode: true)
        [$stdout, $stderr].each(&:flush)
        started = Minitest.clock_time
        child = ::Process.fork do
          tell(writer, Marshal.dump(super()))
          exit!(0)
        ensure
          exit!(1)
        end
        writer.close
        outcome(child, reader) || broken(child, Minitest.clock_time - started)
      ensure
        reader&.close
      end

      private

      # With its size first: a process that was forked from the child may hold the stream's end open.
      def tell(writer, text)
        [$stdout, $stderr].each(&:flush)
        writer.write([text.bytesize].pack("N"), text)
        writer.close
      end

      def outcome(child, reader)
        text = "".b
        Wait.wait_until(self.class.limit_seconds, "the end of #{name}", every: 0.001) { told?(reader, text) }
        Marshal.load(text[4..]) if whole?(text)
      rescue Wait::TimeoutError
        nil
      ensure
        @status = reap(child)
      end

      # Whether everything has been read, or nothing more will be sent.
      def told?(reader, text)
        loop { text << reader.read_nonblock(65_536) }
      rescue IO::WaitReadable
        whole?(text)
      rescue EOFError
        true
      end

      def whole?(text) = text.bytesize > 4 && text.bytesize == text.unpack1("N") + 4

      # A child that has sent its outcome ends at once.
      def reap(child)
        Wait.wait_until(1, every: 0.001) { ::Process.wait2(child, ::Process::WNOHANG)&.last }
      rescue Wait::TimeoutError
        ::Process.kill(:KILL, child)
        ::Process.wait2(child).last
      end

      def broken(child, seconds)
        self.time = seconds
        failure = Minitest::Assertion.new("its process #{child} sent no outcome: #{@status}")
        failure.set_backtrace([__FILE__])
        failures << failure
        Minitest::Result.from(self)
      end
    end
  end
end
