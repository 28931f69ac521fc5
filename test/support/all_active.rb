# frozen_string_literal: true

module Penstock
  module TestSupport
    # For stand-ins of a connection with `lanes`: each of them may have something to do.
    module AllActive
      # Answers as {Runtime::ActiveLanes} does before inactive lanes are dropped.
      Lanes = Struct.new(:connection) do
        def to_a = connection.lanes.values
        def add(_lane) = nil
      end

      def active = @active ||= Lanes.new(self)
    end
  end
end
