# frozen_string_literal: true

require_relative "processes"

module RailsShop
  # Installs what is missing: the compiled driver of Penstock, and the gems of Rails. Stateless.
  class Setup
    def initialize(out)
      @out = out
    end

    # @raise [Failed]
    def call
      run(Processes::CLEAN, File.join(Bundle::ROOT, "bin/setup"), "--quiet")
      return if bundle("check", out: File::NULL, err: File::NULL)
      @out.puts "installing the gems of Rails #{Bundle::RAILS} into vendor/rails (usually a minute)"
      @out.flush
      bundle("install", "--quiet") or raise Failed, "the gems of Rails #{Bundle::RAILS} can't be installed; the reason is above"
    end

    private

    def run(environment, *command)
      system(environment, *command, chdir: Bundle::ROOT) or raise Failed, "#{command.first} failed; the reason is above"
    end

    def bundle(*words, **options)
      system({**Processes::CLEAN, **Bundle.environment}, RbConfig.ruby, "-S", "bundle", *words, chdir: Bundle::ROOT, **options)
    end
  end
end
