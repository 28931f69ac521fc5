# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Holds what a child process inherits from the application it was forked from: everything a unit needs that isn't in the
      # unit. Created at boot by the composition root, inherited by fork, never sent.
      #
      # `topics` are the routed topics of the pool (a unit refers to its topic by position), `middleware` wraps user code,
      # `critical` are errors that stop the application, `producer` returns this process's producer and `close_producer` flushes
      # it within the ms given; `adopt` is called in a child with the monitor that replaces the application's.
      ChildContext = Struct.new(:topics, :middleware, :monitor, :clock, :critical, :producer, :close_producer, :threads, :adopt,
        keyword_init: true)
    end
  end
end
