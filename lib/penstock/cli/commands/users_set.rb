# frozen_string_literal: true

require_relative "../command"
require_relative "../confirmation"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Creates a user that logs in with SCRAM, or replaces its password. The password is read from the standard input, so that
      # it's in no process list and no history.
      class UsersSet < Command
        include Confirmation

        command "users set", "Creates a user that logs in with SCRAM, or replaces its password",
          usage: "NAME [options]", arguments: 1..1
        details <<~TEXT
          Asks for the password in a terminal, without showing it; otherwise reads it from the first line of the standard input. It is
          hashed before it is sent.

            penstock users set billing --yes < password.txt
        TEXT

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.value(:mechanism, "--mechanism NAME", "SCRAM-SHA-512 (default) or SCRAM-SHA-256")
          parser.value(:iterations, "--iterations N", Integer, "how often the password is hashed, 4096 to 16384 (8192)")
          define_confirmation(parser)
        end

        def call(words)
          name = words.first
          password = password_of(name)
          Target.new(context, options).admin do |admin|
            exists = known?(admin, name)
            say "user #{name} #{exists ? "exists: its password will be replaced" : "will be created"}"
            next ExitCodes::FAILED unless agreed?(exists ? "Replace the password?" : "Create it?")

            admin.set_password(name, password, **options.slice(:mechanism, :iterations))
            say "#{exists ? "replaced the password of" : "created"} #{name}"
          end
        end

        def password_of(name)
          if context.stdin.tty?
            context.stdout.print("Password of #{Printable.line(name)}: ")
            context.stdout.flush
          end
          text = (context.stdin.tty? ? hidden : context.stdin.gets).to_s.chomp
          fail_usage "the password is empty: type it, or write it to the standard input" if text.empty?
          text
        end

        def hidden
          require "io/console"
          text = context.stdin.respond_to?(:noecho) ? context.stdin.noecho(&:gets) : context.stdin.gets
          context.stdout.puts
          text
        end

        def known?(admin, name)
          admin.describe_users(name).fetch(name, {}).any?
        rescue KafkaError => error
          raise unless error.code == :resource_not_found

          false
        end
      end
    end
  end
end
