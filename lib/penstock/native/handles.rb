# frozen_string_literal: true

require_relative "../weak_set"

module Penstock
  module Native
    # Remembers which line of code opened each handle of this process, so that an error about open handles (in a process that
    # is about to be forked from) can name the line. Holds no reference: unused handles are garbage-collected as usual.
    #
    # Any thread; each entry is written once.
    module Handles
      LIBRARY = File.expand_path("..", __dir__)
      # How many frames of the library may lie between the user's line and the opening of the handle.
      FRAMES = 60
      private_constant :LIBRARY, :FRAMES

      # The set holds nothing, so the handle itself keeps it.
      PLACE = :@line_that_opened_it
      private_constant :PLACE

      @handles = WeakSet.new

      class << self
        # Called by a handle when it opens.
        # @return [void]
        def opened(handle)
          handle.instance_variable_set(PLACE, place)
          @handles.add(handle)
        end

        # @return [Array<String>] one line for each handle that is open in this process: its class and where it was opened
        def open
          @handles.to_a.select { |handle| handle.state == :open }.map do |handle|
            "#{handle.class.name.split("::").last} opened at #{handle.instance_variable_get(PLACE)}"
          end
        end

        private

        # The first line outside of this library; if there is none, the innermost line of the library.
        def place
          frames = caller_locations(3, FRAMES) || []
          frame = frames.find { |entry| !entry.absolute_path.to_s.start_with?(LIBRARY) } || frames.first
          frame ? "#{frame.path}:#{frame.lineno}" : "an unknown place"
        end
      end
    end
  end
end
