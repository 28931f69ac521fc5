# frozen_string_literal: true

require "test_helper"
require "penstock/swarm/mold_handle"

module Penstock
  module Swarm
    # The supervisor's side of a mold's socket. The process id doesn't matter here: nothing is signalled or reaped.
    class MoldHandleTest < TestCase
      def setup
        super
        ours, @theirs = UNIXSocket.pair(:SEQPACKET)
        @handle = MoldHandle.new(::Process.pid, ours)
        @ends = IO.pipe
      end

      def teardown
        @handle.close
        [@theirs, *@ends].each { |io| io.close unless io.closed? }
        super
      end

      def read
        [].tap { |found| @handle.read { |message| found << message } }
      end

      def say(*messages) = messages.each { |message| @theirs.sendmsg(Frame.encode(message)) }

      test "a request is sent with the node's two ends, and answers are read as they arrive" do
        assert @handle.spawn(7, 1, @ends)
        bytes, *, control = @theirs.recvmsg(Frame::MAX_BYTES, scm_rights: true)
        asked = []
        Frame::Parser.new.feed(bytes) { |message| asked << message }
        received = control.unix_rights.each(&:close)

        assert_equal [[Message::Spawn.new(7, 1)], 2], [asked, received.size]
        assert_empty read
        say(Message::Warm.new(3), spawned = Message::Spawned.new(7, 99, nil))
        assert_equal [Message::Warm.new(3), spawned], read
      end

      test "a mold that closed its socket is read to the end, isn't watched any more, and refuses requests" do
        say(Message::Warm.new(3))
        @theirs.close
        waited = @handle.ios.size

        assert_equal [Message::Warm.new(3)], read
        assert_equal waited - 1, @handle.ios.size
        assert_empty read
        refute @handle.spawn(1, 0, @ends)
      end

      # The results in newer Rubies and in older ones.
      [nil, ""].each do |nothing|
        test "the end of the socket may be #{nothing.inspect}" do
          socket = @theirs.dup
          socket.define_singleton_method(:recvmsg_nonblock) { |*, **| [nothing, nil, 0] }
          handle = MoldHandle.new(::Process.pid, socket)
          handle.read { flunk "no message" }

          assert_predicate socket, :closed?
          refute handle.spawn(1, 0, @ends)
        ensure
          handle&.close
        end
      end

      test "a request to a mold that doesn't read is refused without waiting" do
        asked = 0
        asked += 1 while asked < 100_000 && @handle.spawn(asked, 0, @ends)

        assert_operator asked, :<, 100_000
      end
    end
  end
end
