# frozen_string_literal: true

module Penstock
  module Native
    # Who opened which handle of this process, so that whoever can't do with one (a process that is about to be forked from) can
    # name the line. Holds no handle: one that nobody needs is collected as ever.
    #
    # Any thread; each entry is written once.
    module Handles
      LIBRARY = File.expand_path("..", __dir__)
      # How deep a handle may be opened below the line that led to it.
      FRAMES = 60
      private_constant :LIBRARY, :FRAMES

      # As a value it would be forgotten with the next collection: this map is weak on both sides.
      PLACE = :@line_that_opened_it
      private_constant :PLACE

      @handles = ObjectSpace::WeakMap.new

      class << self
        # Called by a handle that opens.
        # @return [void]
        def opened(handle)
          handle.instance_variable_set(PLACE, place)
          @handles[handle] = handle
        end

        # @return [Array<String>] one line for each handle that is open in this process: what it is and where it was opened
        def open
          @handles.keys.select { |handle| handle.state == :open }.map do |handle|
            "#{handle.class.name.split("::").last} opened at #{handle.instance_variable_get(PLACE)}"
          end
        end

        private

        # The first line that isn't ours; ours where there is none.
        def place
          frames = caller_locations(3, FRAMES) || []
          frame = frames.find { |entry| !entry.absolute_path.to_s.start_with?(LIBRARY) } || frames.first
          frame ? "#{frame.path}:#{frame.lineno}" : "an unknown place"
        end
      end
    end
  end
end
