# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Config
    # Finds the file that defines the application and loads it, by its absolute path.
    #
    # Lookup order: `PENSTOCK_BOOT_FILE` (relative paths start from the root), `penstock.rb`, `config/penstock.rb`. {Root} finds
    # the root.
    # `PENSTOCK_BOOT_FILE=false` means "the application boots itself": then `config/environment.rb` is loaded if it
    # exists, as in a Rails application whose initializer defines the application.
    class BootFile
      VARIABLE = "PENSTOCK_BOOT_FILE"
      NAMES = ["penstock.rb", "config/penstock.rb"].freeze
      SELF_BOOT = "false"
      ENVIRONMENT = "config/environment.rb"

      # Loads a boot file. If it is in the folder of an `environment.rb`, as `config/penstock.rb` of a Rails application is, that
      # is loaded first. It may load the boot file itself, as the Railtie does: then it isn't loaded again.
      # @param path [String] absolute
      # @return [void]
      def self.load(path)
        environment = environment_of(path)
        require environment if environment
        require File.realpath(path)
      end

      # @param path [String] of a boot file
      # @return [String, nil] the `environment.rb` that is loaded before it
      def self.environment_of(path)
        file = File.join(File.dirname(path), File.basename(ENVIRONMENT))
        File.realpath(file) if File.file?(file)
      end

      # @param env [Hash, ENV]
      # @param dir [String] current folder
      def initialize(env: ENV, dir: Dir.pwd)
        @env = env
        @dir = dir
      end

      # @return [String] folder of the application
      def root
        require_relative "root" # not needed for --help
        @root ||= Root.path(env: @env, dir: @dir)
      end

      # @return [String, nil] absolute path; nil if there is nothing to load
      # @raise [MissingBootFileError] with every place that was tried
      def path
        return environment if self_boot?

        candidates.find { |candidate| File.file?(candidate) } || missing
      end

      # The path of a new boot file, whether it exists or not.
      #
      # @return [String] absolute path
      def target
        self_boot? ? File.join(root, NAMES.first) : candidates.first
      end

      # Loads the file.
      #
      # @return [String, nil] its path
      # @raise [MissingBootFileError]
      def load
        path.tap { |file| BootFile.load(file) if file }
      end

      private

      def self_boot?
        @env[VARIABLE] == SELF_BOOT
      end

      def candidates
        named = @env[VARIABLE].to_s
        names = named.empty? ? NAMES : [named]
        names.map { |name| File.expand_path(name, root) }
      end

      def environment
        file = File.join(root, ENVIRONMENT)
        file if File.file?(file)
      end

      def missing
        lines = ["there is no boot file. Looked for:", *candidates.map { |file| "  #{file}" }, "",
          "`penstock install` writes one here; set #{VARIABLE} to use one elsewhere."]
        raise MissingBootFileError, lines.join("\n")
      end
    end
  end
end
