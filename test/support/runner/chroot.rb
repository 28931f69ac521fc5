# frozen_string_literal: true

require "etc"
require "fileutils"
require_relative "../child"

module Penstock
  module TestSupport
    module Runner
      # Runs the suite with the Ruby of another Debian release: a small system made by debootstrap in tmp/chroot/SUITE,
      # with a copy of the tracked files. The system, its gems and its librdkafka are kept for the next run.
      class Chroot
        class Error < StandardError; end

        SUITES = %w[trixie].freeze
        PACKAGES = %w[
          build-essential ca-certificates git libcurl4-openssl-dev libsasl2-dev libssl-dev libzstd-dev patch pkg-config
          procps ruby ruby-bundler ruby-dev zlib1g-dev
        ].freeze
        DEFAULT_KINDS = %w[unit native].freeze
        # Files that a machine with a proxy or a mirror needs to reach its gem source, if it has them.
        MACHINE_FILES = %w[
          /etc/resolv.conf /etc/hosts /etc/gemrc /root/.gemrc /etc/ssl/certs/ca-certificates.crt
        ].freeze

        def initialize(suite)
          raise Error, "--chroot knows #{SUITES.join(", ")}, not #{suite}" unless SUITES.include?(suite)
          raise Error, "--chroot needs root" unless Process.uid.zero?

          @suite = suite
          @root = File.expand_path("tmp/chroot/#{suite}")
        end

        # @return [Boolean] whether the suite passed there
        def test(words)
          bootstrap unless File.exist?(marker)
          copy_machine_files
          copy_tree
          with_mounts { run_tests(words.empty? ? DEFAULT_KINDS : words) }
        end

        private

        def marker
          File.join(@root, "penstock-ready")
        end

        def bootstrap
          install_debootstrap
          puts "making Debian #{@suite} in #{@root}"
          FileUtils.rm_rf(@root)
          FileUtils.mkdir_p(@root)
          sh("debootstrap", "--variant=minbase", "--include=#{PACKAGES.join(",")}", @suite, @root, mirror, script)
          FileUtils.touch(marker)
        end

        def install_debootstrap
          return if system("which debootstrap >/dev/null")

          puts "installing debootstrap with apt-get"
          sh("apt-get", "update", "-qq")
          sh("apt-get", "install", "-y", "-qq", "--no-install-recommends", "debootstrap")
        end

        # The mirror from which this machine itself installs.
        def mirror
          uris = `apt-get indextargets --format '$(REPO_URI)' 2>/dev/null`.lines(chomp: true)
          uris.grep_v(/security|updates/).find { |uri| uri.include?("debian") } ||
            raise(Error, "--chroot: apt knows no Debian mirror on this machine")
        end

        # An older debootstrap doesn't know a newer suite's name; all suites of today share sid's script.
        def script
          "/usr/share/debootstrap/scripts/sid"
        end

        def copy_machine_files
          MACHINE_FILES.select { |path| File.file?(path) }.each do |path|
            FileUtils.mkdir_p(File.join(@root, File.dirname(path)))
            FileUtils.cp(path, File.join(@root, path))
          end
        end

        # Tracked and new files as they are in the working tree, without what was built here.
        def copy_tree
          tree = File.join(@root, "penstock")
          FileUtils.mkdir_p(tree)
          files = `git ls-files -z --cached --others --exclude-standard`.split("\0").select { |path| File.file?(path) }
          forget_deleted(tree, files)
          files.each do |path|
            FileUtils.mkdir_p(File.join(tree, File.dirname(path)))
            FileUtils.cp(path, File.join(tree, path), preserve: true)
          end
          FileUtils.mkdir_p(File.join(tree, "ports/archives"))
          FileUtils.cp(Dir["ports/archives/*.tar.gz"], File.join(tree, "ports/archives"))
        end

        def forget_deleted(tree, files)
          kept = %w[vendor/ ports/ tmp/ .bundle/ Gemfile.lock]
          Dir.glob("**/*", base: tree).each do |path|
            next if path.start_with?(*kept) || !File.file?(File.join(tree, path)) || path.end_with?(".so")

            FileUtils.rm_f(File.join(tree, path)) unless files.include?(path)
          end
        end

        def with_mounts
          mounts = {"proc" => "proc", "sysfs" => "sys"}
          mounts.each { |type, folder| sh("mount", "-t", type, type, File.join(@root, folder)) }
          sh("mount", "--bind", "/dev", File.join(@root, "dev"))
          yield
        ensure
          %w[dev sys proc].each { |folder| system("umount", File.join(@root, folder), err: File::NULL) }
        end

        # Bundler's and Ruby's settings of this process apply to the Ruby outside.
        def run_tests(words)
          source = Gem.sources.first.uri.to_s
          command = "cd /penstock && gem sources --clear-all >/dev/null && gem sources --add #{source} >/dev/null; " \
                    "ruby -v && exec bin/test \"$@\""
          kept = ENV.to_h.slice("LANG", "SSL_CERT_FILE", "http_proxy", "https_proxy", "no_proxy", "TERM")
          env = kept.merge("PATH" => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME" => "/root",
            "BUNDLE_SILENCE_ROOT_WARNING" => "1")
          Child.run(["chroot", @root, "/bin/sh", "-c", command, "sh", *words], timeout: 1_500, env: env,
            unsetenv_others: true).success?
        end

        def sh(*command)
          return if Child.run(command, timeout: 900).success?

          raise Error, "--chroot: #{command.join(" ")} failed"
        end
      end
    end
  end
end
