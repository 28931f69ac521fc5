# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # What a child process inherits from the application it was forked from: everything a unit needs that isn't in the unit.
      # Made at boot by the composition root, inherited by fork, never sent.
      #
      # `topics` are the routed topics of the pool (a unit names its own by position), `middleware` is put around user code,
      # `critical` are errors that stop the application, `producer` gives this process's producer and `close_producer` flushes
      # it within the ms given; `adopt` is called in a child with the monitor that takes the application's place.
      ChildContext = Struct.new(:topics, :middleware, :monitor, :clock, :critical, :producer, :close_producer, :threads, :adopt,
        keyword_init: true)
    end
  end
end
