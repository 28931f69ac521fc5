# frozen_string_literal: true

require_relative "../serialization/deserializers"

module Penstock
  module OnRails
    # Finds the objects that the routes of the boot file were given, such as deserializers and strategies, and the files of their
    # classes: Rails may reload such a class, and the object keeps the code it had at boot.
    module KeptObjects
      NAME = Module.instance_method(:name)
      # Its class is looked up again for each call.
      RELOADED = %i[consumer].freeze
      private_constant :NAME, :RELOADED

      class << self
        # @param topics [Enumerable<Routing::Topic>]
        # @param root [String] folder of the application's code
        # @return [Hash{String => String}] absolute paths of files, and which object a change of this file doesn't reach
        def files(topics, root)
          topics.each_with_object({}) do |topic, files|
            topic.features.except(*RELOADED).each do |verb, value|
              parts(value).each do |part|
                name = NAME.bind_call(part.is_a?(Module) ? part : part.class)
                file = file_of(name)
                files[file] ||= "#{verb} of topic #{topic.name} keeps #{name} as it was at boot" if file&.start_with?("#{root}/")
              end
            end
          end
        end

        private

        def parts(value)
          case value
          when Serialization::Deserializers then parts(value.to_h.values)
          when Serialization::Guard then [value.deserializer]
          when Array, Struct then value.to_a.flat_map { |one| parts(one) }
          else [value]
          end
        end

        # @return [String, nil] nil for classes without a name and for those that Ruby itself has
        def file_of(name)
          Object.const_source_location(name)&.first if name
        rescue NameError # the name of a class in a class without a name; or the class is gone
          nil
        end
      end
    end
  end
end
