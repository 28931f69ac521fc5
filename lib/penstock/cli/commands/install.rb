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
          ExampleConsumer, and log. A Rails application (one with `rails` in its Gemfile.lock) gets a boot file that
          loads config/environment.rb. Existing files are not changed.
        TEXT

        TEMPLATES = File.expand_path("../templates", __dir__)
        CONSUMERS = {
          "application_consumer.rb" => "app/consumers/application_consumer.rb",
          "example_consumer.rb" => "app/consumers/example_consumer.rb"
        }.freeze

        private

        def define(parser)
          parser.flag(:rails, "--[no-]rails", "write the Rails variant (default: detected from Gemfile.lock)")
        end

        def call(_words)
          require "fileutils"

          require_relative "../boot_file"
          @boot_file = BootFile.new(env: context.env, dir: context.dir)
          write(rails? ? "penstock.rails.rb" : "penstock.rb", @boot_file.target)
          CONSUMERS.each { |template, path| write(template, File.join(@boot_file.root, path)) }
          make_folder(File.join(@boot_file.root, "log"))
          say "", next_steps
        end

        def rails?
          return options[:rails] if options.key?(:rails)

          lockfile = File.join(@boot_file.root, "Gemfile.lock")
          File.file?(lockfile) && File.foreach(lockfile).any? { |line| line.match?(/\A {4}rails \(/) }
        end

        def write(template, target)
          make_folder(File.dirname(target), quiet: true)
          text = File.read(File.join(TEMPLATES, "#{template}.txt"))
          # EXCL: a file that is created in the meantime is not overwritten either.
          File.open(target, File::WRONLY | File::CREAT | File::EXCL) { |file| file.write(fill_in(text, target)) }
          said("created", target)
        rescue Errno::EEXIST
          said("exists, left as it is", target)
        end

        # A boot file below the root (config/penstock.rb) must still find the root.
        def fill_in(text, target)
          depth = target.delete_prefix("#{@boot_file.root}/").count("/")
          up = depth.zero? ? "__dir__" : "File.expand_path(\"#{Array.new(depth, "..").join("/")}\", __dir__)"
          text.gsub("ROOT_FOLDER") { up }
        end

        def make_folder(path, quiet: false)
          return quiet || said("exists, left as it is", path) if File.directory?(path)

          FileUtils.mkdir_p(path)
          said("created", path) unless quiet
        end

        def said(verb, path)
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
