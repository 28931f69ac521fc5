# frozen_string_literal: true

module Penstock
  module CLI
    module Replay
      # Units that were handed out and are not back, in that order, including those of an earlier incarnation or
      # assignment. One per lane, on the command's thread.
      class Out
        # A unit, and its name in a recording.
        Place = Struct.new(:action, :first, :unit) do
          # @param name [Array(String, Integer)] action and first offset
          def called?(name) = [action, first] == name
        end

        # @param places [Array<Place>]
        def initialize(places = [])
          @places = places
        end

        # @param action [String]
        # @param first [Integer, nil] its first offset
        # @param unit [Processing::Unit, nil]
        def add(action, first, unit) = @places << Place.new(action, first, unit)

        # @param other [Out] units handed out later
        # @return [Out] the units with records of both
        def consuming(other) = Out.new((@places + other.places).select { |place| place.unit&.consume? })

        # Removes a unit that came back.
        #  @param name [Array(String, Integer)] action and first offset
        # @yieldparam unit [Processing::Unit] of that name
        # @yieldreturn [Boolean] whether it is the right one
        # @return [Processing::Unit, nil]
        def delete(name)
          index = @places.index { |place| place.called?(name) && place.unit && yield(place.unit) }
          @places.delete_at(index).unit if index
        end

        # Removes the last ones, because workers begin at the front.
        # @param count [Integer]
        # @return [Array<Processing::Unit>] the units called back, in order
        def call_back(count) = @places.pop(count).filter_map(&:unit)

        # @return [Array<Processing::Unit>]
        def units = @places.filter_map(&:unit)

        protected

        attr_reader :places
      end
    end
  end
end
