# frozen_string_literal: true

require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Writes the files a new application needs and prints what it did. It never changes existing files, so it can be
      # run again.
      class Install < Command
        command "install", "Writes a commented boot file and an example consumer"
        details <<~TEXT
          Creates penstock.rb (or the file that PENSTOCK_BOOT_FILE names), app/consumers with an ApplicationConsumer and an
          ExampleConsumer, and log. In a Rails application (one with `rails` in its Gemfile.lock) the boot file is
          config/penstock.rb, and bin/penstock is created; `bin/rails generate penstock:install` also runs the consumers
          with `bin/rails server` or `bin/dev`. Existing files are not changed.
        TEXT

        EXAMPLE = {topic: ":example", consumer: "ExampleConsumer"}.freeze

        private

        def define(parser)
          parser.flag(:rails, "--[no-]rails", "write the Rails variant (default: detected from Gemfile.lock)")
        end

        def call(_words)
          require "fileutils"
          require_relative "../boot_file"
          require_relative "../templates"

          @boot_file = BootFile.new(env: context.env, dir: context.dir)
          rails? ? write_rails : write_plain
          write(path("app/consumers/application_consumer.rb"), Templates.text("application_consumer.rb"))
          make_folder(path("log"))
          say "", next_steps
        end

        def write_plain
          write(@boot_file.target, boot_file("penstock.rb", @boot_file.target))
          write(path("app/consumers/example_consumer.rb"), Templates.text("example_consumer.rb", **EXAMPLE))
        end

        def write_rails
          target = rails_target
          write(target, boot_file("penstock.rails.rb", target).sub("\n\n") { "\n\n#{load_rails(target)}" })
          write(path("app/consumers/example_consumer.rb"), Templates.text("rails_consumer.rb", **EXAMPLE, topic: "example"))
          write(path("bin/penstock"), Templates.text("binstub.rb"), 0o755)
        end

        # A boot file in the root takes precedence over one in config.
        def rails_target
          named = !context.env[BootFile::VARIABLE].to_s.empty?
          (named || File.file?(path("penstock.rb"))) ? @boot_file.target : path("config/penstock.rb")
        end

        # A boot file that isn't next to config/environment.rb loads it itself.
        def load_rails(target)
          return if File.dirname(target) == path("config")
          "require File.join(#{root_from(target)}, \"config/environment\")\n\n"
        end

        def rails?
          return options[:rails] if options.key?(:rails)

          lockfile = path("Gemfile.lock")
          File.file?(lockfile) && File.foreach(lockfile).any? { |line| line.match?(/\A {4}rails \(/) }
        end

        def boot_file(template, target)
          application = Templates.application_name(@boot_file.root)
          Templates.text(template, **EXAMPLE, application: application, root_folder: root_from(target))
        end

        # A boot file below the root (config/penstock.rb) must still find the root.
        def root_from(target)
          depth = target.delete_prefix("#{@boot_file.root}/").count("/")
          depth.zero? ? "__dir__" : "File.expand_path(\"#{Array.new(depth, "..").join("/")}\", __dir__)"
        end

        def path(name) = File.join(@boot_file.root, name)

        def write(target, text, mode = 0o644)
          make_folder(File.dirname(target), quiet: true)
          print_result(create(target, text, mode) ? "created" : "exists, left as it is", target)
        end

        # EXCL: a file that is created in the meantime is not overwritten either.
        def create(target, text, mode)
          File.open(target, File::WRONLY | File::CREAT | File::EXCL, mode) { |file| file.write(text) }
        rescue Errno::EEXIST
          false
        rescue SystemCallError => error
          refuse(target, error)
        end

        def make_folder(path, quiet: false)
          return quiet || print_result("exists, left as it is", path) if File.directory?(path)

          create_folder(path)
          print_result("created", path) unless quiet
        end

        def create_folder(path)
          FileUtils.mkdir_p(path)
        rescue SystemCallError => error
          refuse(path, error)
        end

        def refuse(path, error)
          fail_usage "#{path} can't be created: #{error.message[/\A[^@]+/].strip}. Repeat the command when it can: what it has " \
            "created stays"
        end

        def print_result(verb, path)
          say "  #{verb}: #{path.delete_prefix("#{@boot_file.root}/")}"
        end

        def next_steps
          <<~TEXT
            Next:
              penstock broker          an in-memory Kafka on 127.0.0.1:9092, if you have no broker
              penstock server          runs the application
              penstock produce example '{"hello": "world"}'
          TEXT
        end
      end
    end
  end
end
