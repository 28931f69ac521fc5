# frozen_string_literal: true

module Penstock
  module CLI
    # The files that `penstock install` and the Rails generators write. Stateless.
    module Templates
      FOLDER = File.expand_path("templates", __dir__)

      class << self
        # @param name [String] such as "penstock.rb"
        # @param values [Hash{Symbol => String}] replaces each name in capitals: `topic:` replaces TOPIC
        # @return [String]
        def text(name, **values)
          text = File.read(File.join(FOLDER, "#{name}.txt"))
          return text if values.empty?
          text.gsub(/\b(?:#{values.keys.join("|").upcase})\b/) { |word| values.fetch(word.downcase.to_sym) }
        end

        # @param root [String] folder of the application
        # @return [String] its name, usable as a client id and as a group
        def application_name(root)
          name = File.basename(root).gsub(/[^a-zA-Z0-9._-]+/, "_")
          name.match?(/[a-zA-Z0-9]/) ? name : "my_application"
        end
      end
    end
  end
end
