# frozen_string_literal: true

module Penstock
  # Finds the line of a user's file that is being executed, so that a problem of the setup or the routes can name it. Stateless.
  module UserLine
    LIBRARY = __dir__
    private_constant :LIBRARY

    # @return [String, nil] file and line, such as "penstock.rb:5"
    def self.find
      frame = caller_locations.find { |entry| !entry.absolute_path.to_s.start_with?(LIBRARY) }
      "#{File.basename(frame.path)}:#{frame.lineno}" if frame
    end
  end
end
