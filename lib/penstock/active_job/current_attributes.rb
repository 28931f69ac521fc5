# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module ActiveJob
    # Carries the attributes of ActiveSupport::CurrentAttributes from where a job is enqueued to where it is performed. They are
    # part of the job's data, by the name of their class and in Active Job's format for arguments.
    #
    # Set up at boot; then any thread.
    module CurrentAttributes
      # Key of a job's data.
      KEY = "penstock_current"
      # Karafka's keys: attributes of the first class, of the second …
      KARAFKA = "cattr_"
      NAME = /\A(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*\z/
      private_constant :NAME

      # JSON has them as they are.
      PLAIN = [String, Numeric, true, false, nil].freeze
      private_constant :PLAIN

      @names = [].freeze
      @for_karafka = false

      class << self
        # @return [Array<String>] names of the classes
        attr_reader :names
        # @return [Boolean] whether jobs carry their attributes in Karafka's keys as well
        attr_reader :for_karafka

        # @param value [Boolean]
        # @raise [ConfigurationError] it is something else
        def for_karafka=(value)
          unless [true, false].include?(value)
            raise ConfigurationError.new([Problem.new("current_attributes_for_karafka", "must be true or false, is " \
              "#{value.inspect[0, 80]}")])
          end
          @for_karafka = value
        end

        # @param names [Array<String, Class>, String, Class] classes of ActiveSupport::CurrentAttributes, by name because
        #   their code may be reloaded
        # @raise [ConfigurationError] one isn't the name of a class
        def names=(names)
          names = Array(names).map { |name| name.is_a?(Class) ? name.name.to_s : name }
          wrong = names.reject { |name| name.is_a?(String) && NAME.match?(name) }
          unless wrong.empty?
            raise ConfigurationError.new([Problem.new("current_attributes", "#{wrong.first.inspect[0, 80]} is not the name of " \
              "a class", "For example %w[Current]")])
          end
          @names = names.map { |name| name.delete_prefix("::").freeze }.uniq.freeze
        end

        # Karafka's name: adds classes.
        # @param names [Array<String, Class>]
        # @return [Array<String>]
        # @raise [ConfigurationError]
        def persist(*names) = self.names = @names + names.flatten

        # An attribute that was set to nil is captured too: the job would otherwise see its default, or what the setter of another
        # attribute derives.
        # @return [Hash{String => Array}, nil] the attributes of the caller, serialized; nil if none was set
        # @raise [ConfigurationError] one of {names} isn't a class of current attributes
        # @raise [::ActiveJob::SerializationError] Active Job can't serialize a value
        def capture
          return if @names.empty?
          found = @names.filter_map do |name|
            type = class_of(name)
            values = type.attributes
            [name, serialized(name, values)] unless untouched?(type, values)
          end
          found.to_h unless found.empty?
        end

        # @param captured [Hash{String => Object}] result of {in} or {capture}
        # @return [Hash{String => Hash}] what the data of its job has in addition
        def data_of(captured) = @for_karafka ? {KEY => captured, **numbered(captured)} : {KEY => captured}

        # @param data [Hash] a job's data
        # @return [Hash{String => Object}, nil] what {assign} takes
        def in(data)
          data[KEY] || (karafka(data) unless @names.empty?)
        end

        # Runs the block, which may change attributes of {names}; afterwards they have the values from before.
        # @yieldreturn [Object]
        # @raise [ConfigurationError] as {capture}
        def keeping
          before = @names.map { |name| class_of(name) }.to_h { |type| [type, type.attributes.dup] }
          begin
            yield
          ensure
            # Not by their setters: those of the application may set others, or not expect nil.
            before.each { |type, values| type.instance.attributes = values }
          end
        end

        # The setters are called, because those of the application may do more, such as set the time zone.
        # @param captured [Hash{String => Object}] result of {in} or {capture}
        # @return [void]
        # @raise [ConfigurationError] a class isn't one of {names}, or has no such attribute
        def assign(captured)
          captured.map { |name, stored| [known(name), values_of(stored), stored] }.each do |type, values, stored|
            missing = values.keys.reject { |name| type.method_defined?(:"#{name}=") }
            lacking(type, missing) if missing.any? { |name| !values[name].nil? }
            values = values.except(*missing)
            stored.is_a?(Hash) ? set(type, values) : restore(type, values)
          end
        end

        # Resets all of them, not only those of {names}: the next job on this thread sees none of this one's.
        # @return [void]
        def reset
          ActiveSupport::CurrentAttributes.clear_all # Rails 8.1 has no reset_all
        end

        private

        # It isn't looked up at boot: classes of an application are loaded later, and again.
        def class_of(name)
          type = Object.const_get(name)
          return type if type.is_a?(Class) && type < ActiveSupport::CurrentAttributes
          wrong_class("#{name} isn't a class of ActiveSupport::CurrentAttributes")
        rescue NameError => error
          raise unless name.split("::").include?(error.name.to_s) # of the code in its file
          wrong_class("#{name} can't be loaded (#{error.message.lines.first.chomp})")
        end

        # Nothing was set, or everything again to the nil that it is without.
        def untouched?(type, values)
          values.empty? || (values.each_value.all?(&:nil?) && type.new.attributes.compact.empty?)
        end

        def serialized(name, values)
          ::ActiveJob::Arguments.serialize([values])
        rescue ::ActiveJob::SerializationError => error
          attribute, reason = refused(values)
          raise error unless attribute
          raise error.class, "#{name}.#{attribute} can't be carried by a job: #{reason.message}. Set it to what Active Job " \
            "serializes (text, numbers, saved records …), or move it into a class that current_attributes doesn't list"
        end

        # @return [Array(Symbol, StandardError), nil] the attribute that can't be serialized, and why
        def refused(values)
          values.each do |name, value|
            ::ActiveJob::Arguments.serialize([value])
          rescue ::ActiveJob::SerializationError => error
            return [name, error]
          end
          nil
        end

        def wrong_class(message)
          raise ConfigurationError.new([Problem.new("current_attributes", message, "List the names of such classes, for " \
            "example %w[Current]")])
        end

        def lacking(type, missing)
          raise ConfigurationError.new([Problem.new("current_attributes", "the job has values for #{missing.join(", ")}, which " \
            "#{type} doesn't have", "Add the attribute again until such jobs have run")])
        end

        def known(name)
          return class_of(name) if @names.include?(name)
          raise ConfigurationError.new([Problem.new("current_attributes", "the job was enqueued with attributes of " \
            "#{name.inspect[0, 80]}, which isn't listed here", "List the class where jobs are performed, too")])
        end

        def set(type, values) = values.each { |name, value| type.public_send(:"#{name}=", value) }

        # Attributes end with the values that they had: a setter may have derived another attribute, or convert what it gets.
        # Setters may not expect nil, with which the job begins anyway.
        def restore(type, values)
          set(type, values.compact)
          type.instance.attributes = type.attributes.merge(values)
        end

        # Attributes that Karafka has stored are a Hash, as JSON has it: setters may convert them.
        def values_of(stored)
          return stored.transform_keys(&:to_sym) if stored.is_a?(Hash)
          ::ActiveJob::Arguments.deserialize(stored).first.transform_keys(&:to_sym)
        end

        # Karafka writes values as JSON has them: what is more than text, a number, true or false would not be the same there.
        def numbered(captured)
          captured.to_h do |name, stored|
            values = stored.is_a?(Hash) ? stored : stored.first
            ["#{KARAFKA}#{@names.index(known(name).name)}", values.select { |_name, value| PLAIN.any? { _1 === value } }]
          end
        end

        # Karafka numbers the classes in the order in which they are listed.
        def karafka(data)
          found = @names.each_with_index.filter_map do |name, index|
            values = data["#{KARAFKA}#{index}"]
            [name, values] if values.is_a?(Hash)
          end
          found.to_h unless found.empty?
        end
      end
    end
  end
end
