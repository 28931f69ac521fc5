# frozen_string_literal: true

module Penstock
  module Execution
    # The interface of an executor, which runs units in one way. {Threads::Pool}, {Fibers::Pool} and {Processes::Pool} are
    # executors; {Executors} combines several. Poll loops use an executor through these methods only; the tests in
    # test/contract/execution/executor_contract.rb check every executor.
    #
    # An executor takes units from its own run queue, runs each with a {UnitRunner}, reports `finished` to the queue and posts the
    # outcome to the slot's mailbox, in this order. Its methods may be called from any thread. It ends with {#close}.
    module Executor
      METHODS = %i[queue grow interrupt running size close].freeze
      # The methods that poll loops call on a queue.
      QUEUE_METHODS = %i[push withdraw waiting idle close snapshot].freeze

      # @return [RunQueue] the queue of its units
      def queue = missing(:queue)

      # Called when units are queued and no worker is idle: adds workers, as far as more are allowed.
      # @param _count [Integer] how many could be used; 0 changes nothing
      def grow(_count = 1) = missing(:grow)

      # Raises an error in user code of these units. Code that has ended is not affected.
      # @param _these [Array<Processing::Lane, Processing::Unit>] units, or lanes with all their units
      # @param _error [Exception] {Interrupted} if none is given
      # @return [Array<Processing::Unit>] the units in which it is raised
      def interrupt(_these, _error = nil) = missing(:interrupt)

      # @return [Array<Array(Thread, Processing::Unit)>] the running units, each with the thread that runs or drives it
      def running = missing(:running)

      # @return [Integer] threads, or processes, that it has now
      def size = missing(:size)

      # Closes the queue, lets idle workers end and waits for the others.
      # @param _timeout_s [Float]
      # @return [Boolean] whether all ended by themselves in this time
      def close(_timeout_s) = missing(:close)

      # Called once a second by loops that have work left. Starts a worker where units wait and no worker is idle: when they were
      # queued no thread could be started, or user code has ended the last worker since.
      def start_missing = grow([queue.startable, 1].min)

      # A pattern has discovered a topic. Only an executor that chooses by topic needs to know.
      # @param _topic [Routing::Topic]
      def add_topic(_topic) = nil

      private

      def missing(name) = raise(NotImplementedError, "#{self.class} is an executor and has to define #{name}")
    end
  end
end
