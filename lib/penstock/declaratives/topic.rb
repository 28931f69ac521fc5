# frozen_string_literal: true

module Penstock
  # Topics as the application wants them on the cluster, and what has to change for that.
  module Declaratives
    # The desired state of one topic. Immutable.
    #
    # `config` has Kafka's properties of the topic as Strings; properties that aren't in it stay as they are. A protected topic
    # isn't deleted by commands. `location` is the file and line of the declaration, nil for one in a route.
    Topic = Struct.new(:name, :partitions, :replication_factor, :config, :protected, :location, keyword_init: true) do
      # @return [Boolean] whether commands refuse to delete it
      def protected? = protected

      # @return [Hash{Symbol => Object}] without the place
      def to_h = super.except(:location)
    end
  end
end
