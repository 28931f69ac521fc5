# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Listens to children that have no unit. Their minders wait for one, and hear nothing; but threads that user code left in
      # a child may still want a partition to go on, or wait. One thread for a pool, born with its first child: while all rest
      # it sleeps until one says something, else it looks around every so often. Ends with {#close}.
      class Listener
        # How often it looks who rests, while others work.
        AROUND_S = 0.05
        private_constant :AROUND_S

        # @param threads [#start] where threads are born
        # @yieldreturn [Array<Minder>]
        def initialize(threads, &minders)
          @threads = threads
          @minders = minders
          @lock = Mutex.new
          @thread = nil
          @closed = false
        end

        # There is a child that it hasn't heard of.
        # @param _minder [Minder]
        def born(_minder)
          @lock.synchronize do
            next if @closed
            @wake, @waker = IO.pipe unless @wake
            @thread ||= @threads.start("penstock listener") { listen }
            @waker.write_nonblock(".", exception: false)
          end
        end

        def close
          @lock.synchronize do
            @closed = true
            @waker&.close
          end
          @thread&.join
          @wake&.close
        end

        private

        def listen
          until @closed
            ears = @minders.call.to_h { |minder| [minder.ear, minder] }
            spoke = wait(ears.select { |socket, _minder| socket }, ears.key?(false) ? AROUND_S : nil)
            wait({}, AROUND_S) unless spoke.map(&:overhear).all? # an answer to a unit: there is work again
          end
        end

        # @param ears [Hash{IO => Minder}]
        # @return [Array<Minder>] whose children have said something
        def wait(ears, seconds)
          ready, = IO.select([@wake, *ears.keys], nil, nil, seconds)
          @wake.read_nonblock(64, exception: false) if ready&.delete(@wake)
          ready.to_a.map { |socket| ears.fetch(socket) }
        rescue IOError, SystemCallError # a socket was closed at this moment
          []
        end
      end
    end
  end
end
