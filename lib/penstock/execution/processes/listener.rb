# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Reads from children that have no unit. Their drivers wait for a unit and don't read; but threads that user code left
      # running in a child may still request to resume or pause a partition. One thread per pool, started with the first child:
      # while all children are idle it sleeps until one of them sends something, otherwise it polls. Ends with {#close}.
      class Listener
        # How often it checks which drivers are idle, while others work.
        POLL_S = 0.05
        private_constant :POLL_S

        # @param threads [#start] starts threads
        # @yieldreturn [Array<ChildDriver>]
        def initialize(threads, &drivers)
          @threads = threads
          @drivers = drivers
          @lock = Mutex.new
          @thread = nil
          @closed = false
        end

        # A driver has started a child.
        # @param _driver [ChildDriver]
        def child_started(_driver)
          @lock.synchronize do
            next if @closed
            @wake, @waker = IO.pipe unless @wake
            @thread = @threads.start("penstock listener") { listen } unless @thread&.alive? # an event's listener may end it
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
            sockets = @drivers.call.to_h { |driver| [driver.idle_socket, driver] }
            ready = wait(sockets.select { |socket, _driver| socket }, sockets.key?(false) ? POLL_S : nil)
            wait({}, POLL_S) unless ready.map(&:read_while_idle).all? # its driver has a unit again, and reads by itself
          end
        end

        # @param sockets [Hash{IO => ChildDriver}]
        # @return [Array<ChildDriver>] those whose children have sent something
        def wait(sockets, seconds)
          ready, = IO.select([@wake, *sockets.keys], nil, nil, seconds)
          @wake.read_nonblock(64, exception: false) if ready&.delete(@wake)
          ready.to_a.map { |socket| sockets.fetch(socket) }
        rescue IOError, SystemCallError # a socket was closed at this moment
          []
        end
      end
    end
  end
end
