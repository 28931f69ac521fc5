# frozen_string_literal: true

require_relative "../../on_demand"
Penstock.load_constant :RemoteError

module Penstock
  module Execution
    module Processes
      # Converts an error of a process of the pool to plain values and back, so that every error of user code can be sent to the
      # application, even if Marshal can't dump it.
      #
      # It is rebuilt as an object of its own class, with message, backtrace and causes, so that policies by class work.
      # Instance variables are included where Marshal can dump them. Where the application doesn't know the class, it becomes a
      # {RemoteError}.
      module Failure
        # A chain of causes may be circular, and a message may quote a whole payload.
        CAUSES = 8
        MESSAGE_BYTES = 64 * 1024
        BACKTRACE_LINES = 400
        VARIABLE_BYTES = 4 * 1024
        private_constant :CAUSES, :MESSAGE_BYTES, :BACKTRACE_LINES, :VARIABLE_BYTES

        # Message and backtrace as they were, even if the class computes them.
        module Carried
          # @return [String]
          attr_accessor :message

          # Part of Ruby's interface: `inspect` and `full_message` use these.
          def to_s = message
          def detailed_message(highlight: false, **) = "#{message} (#{self.class})"
        end

        class << self
          # @param error [Exception]
          # @return [Hash{Symbol => Object}]
          def dump(error, depth = 0)
            {class: error.class.name.to_s, message: message_of(error), backtrace: backtrace_of(error),
             variables: variables_of(error), cause: cause_of(error, depth)}
          end

          # @param values [Hash{Symbol => Object}] result of {dump}
          # @return [Exception]
          def load(values)
            cause = values[:cause] && load(values[:cause])
            error = build(values)
            error.set_backtrace(values[:backtrace]) if values[:backtrace]
            cause ? caused(error, cause) : error
          end

          private

          # User code may have broken any of its error's methods.
          def message_of(error)
            error.message.to_s.byteslice(0, MESSAGE_BYTES)
          rescue Exception => broken # rubocop:disable Lint/RescueException -- a user's method may raise anything
            "its message can't be read: #{broken.class}"
          end

          def backtrace_of(error) = error.backtrace&.first(BACKTRACE_LINES)&.map(&:to_s)

          def cause_of(error, depth)
            cause = error.cause
            dump(cause, depth + 1) if cause && depth < CAUSES
          end

          def variables_of(error)
            error.instance_variables.to_h { |name| [name, carried(error.instance_variable_get(name))] }.compact
          end

          def carried(value)
            bytes = Marshal.dump(value)
            bytes if bytes.bytesize <= VARIABLE_BYTES
          rescue
            nil
          end

          def build(values)
            klass = resolve(values[:class])
            return RemoteError.new(values[:class], values[:message]) unless klass
            error = klass.allocate.extend(Carried)
            Exception.instance_method(:initialize).bind_call(error, values[:message])
            error.message = values[:message]
            values[:variables].each { |name, bytes| set(error, name, bytes) }
            error
          rescue TypeError # a class without an allocator
            RemoteError.new(values[:class], values[:message])
          end

          # The class may be autoloaded.
          def resolve(name)
            return if name.empty?
            found = Object.const_get(name)
            found if found.is_a?(Class) && found <= Exception
          rescue NameError, LoadError
            nil
          end

          def set(error, name, bytes)
            error.instance_variable_set(name, Marshal.load(bytes))
          rescue
            nil
          end

          # Only raising sets a cause. An error that isn't a StandardError is rescued here like any other: it doesn't leave this
          # method.
          def caused(error, cause)
            raise error, cause: cause
          rescue Exception => raised # rubocop:disable Lint/RescueException -- raised two lines above
            raised
          end
        end
      end
    end
  end
end
