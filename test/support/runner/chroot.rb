# frozen_string_literal: true

require "etc"
require "fileutils"
require_relative "../child"
require_relative "../kafka_server"

module Penstock
  module TestSupport
    module Runner
      # Runs the suite with the Ruby of another Debian release: a small system made by debootstrap in tmp/chroot/SUITE,
      # with a copy of the tracked files. The system, its gems and its librdkafka are kept for the next run. Tests that
      # need a real broker run too if this machine has one or can start one: Kafka's jars are visible there as /kafka, and
      # the system has a Java of its own.
      #
      # Everything is mounted in a mount namespace of its own, so that no mount is left over when a run is killed, and
      # deleting the folder can never reach what was mounted there.
      class Chroot
        class Error < StandardError; end

        SUITES = %w[trixie].freeze
        PACKAGES = %w[
          build-essential ca-certificates curl default-jdk-headless git libcurl4-openssl-dev libsasl2-dev libssl-dev libyaml-dev
          libzstd-dev patch pkg-config postgresql procps ruby ruby-bundler ruby-dev zlib1g-dev
        ].freeze
        # Files that a machine with a proxy or a mirror needs to reach its gem source, if it has them.
        MACHINE_FILES = %w[
          /etc/resolv.conf /etc/hosts /etc/gemrc /root/.gemrc /etc/ssl/certs/ca-certificates.crt
        ].freeze
        KAFKA = "/kafka"
        # All that the system inside gets of this process's environment: Bundler's and Ruby's settings apply to the Ruby
        # outside.
        VARIABLES = %w[SSL_CERT_FILE http_proxy https_proxy no_proxy TERM KAFKA_BOOTSTRAP_SERVERS].freeze
        # Files that are made inside: extensions, and the versions of gems that each of `gemfiles/` is installed with.
        MADE = %w[.so .gemfile.lock].freeze
        PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

        # $1 is the system's root, $2 a folder with Kafka's jars or nothing; the other arguments are run inside.
        INSIDE = <<~SH.freeze
          set -e
          root=$1 kafka=$2
          shift 2
          mount -t proc proc "$root/proc"
          mount -t sysfs sysfs "$root/sys"
          mount --rbind /dev "$root/dev"
          if [ -n "$kafka" ]; then
            mkdir -p "$root#{KAFKA}"
            mount --bind "$kafka" "$root#{KAFKA}"
            mount -o remount,bind,ro "$root#{KAFKA}"
          fi
          exec chroot "$root" "$@"
        SH

        # Nothing that is installed starts a service.
        INSTALL = <<~SH
          export DEBIAN_FRONTEND=noninteractive
          printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
          chmod +x /usr/sbin/policy-rc.d
          apt-get update -qq &&
            apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "$@" >/dev/null
        SH

        TEST = <<~SH
          cd /penstock
          source=$1
          shift
          gem sources --clear-all >/dev/null && gem sources --add "$source" >/dev/null
          ruby -v
          exec bin/test "$@"
        SH

        private_constant :MACHINE_FILES, :KAFKA, :VARIABLES, :MADE, :PATH, :INSIDE, :INSTALL, :TEST

        # @param suite [String] name of a Debian release, as debootstrap knows it
        # @raise [Error] this one is not supported, or this process isn't root
        def initialize(suite)
          raise Error, "--chroot knows #{SUITES.join(", ")}, not #{suite}" unless SUITES.include?(suite)
          raise Error, "--chroot needs root" unless ::Process.uid.zero?

          @suite = suite
          @root = File.expand_path("tmp/chroot/#{suite}")
        end

        # @param words [Array<String>] arguments of bin/test
        # @return [Boolean] whether the suite passed there
        def test(words)
          prepare
          copy_tree
          inside(TEST, Gem.sources.first.uri.to_s, *words, timeout: 7_200).success?
        end

        # Makes the system, and installs what it is missing.
        # @raise [Error] a step failed
        def prepare
          bootstrap unless File.exist?(base_marker)
          copy_machine_files
          install_packages unless installed?
          copy_machine_files # the package with the certificates has replaced one of them
        end

        private

        def base_marker = File.join(@root, "penstock-base")
        def packages_marker = File.join(@root, "penstock-packages")

        def installed?
          File.exist?(packages_marker) && File.read(packages_marker).split == PACKAGES
        end

        # An older version left its mounts when it was killed: --one-file-system deletes nothing in them.
        def bootstrap
          install_debootstrap
          puts "making Debian #{@suite} in #{@root} (a minute or two)"
          sh("rm", "-rf", "--one-file-system", @root)
          FileUtils.mkdir_p(@root)
          sh("unshare", "--mount", "debootstrap", "--variant=minbase", @suite, @root, mirror, script, log: "#{@root}.log")
          FileUtils.touch(base_marker)
        end

        def install_packages
          puts "installing compilers, Ruby and Java in it (a minute or two)"
          raise Error, "--chroot: the packages could not be installed" unless inside(INSTALL, *PACKAGES, timeout: 1_800).success?

          File.write(packages_marker, PACKAGES.join("\n"))
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
          files = listed.select { |path| File.file?(path) }
          forget_deleted(tree, files)
          files.each do |path|
            FileUtils.mkdir_p(File.join(tree, File.dirname(path)))
            FileUtils.cp(path, File.join(tree, path), preserve: true)
          end
          FileUtils.mkdir_p(File.join(tree, "ports/archives"))
          FileUtils.cp(Dir["ports/archives/*.tar.gz"], File.join(tree, "ports/archives"))
        end

        def listed = `git ls-files -z --cached --others --exclude-standard`.split("\0")

        def forget_deleted(tree, files)
          kept = %w[vendor/ ports/ tmp/ .bundle/ Gemfile.lock]
          Dir.glob("**/*", base: tree).each do |path|
            next if path.start_with?(*kept) || path.end_with?(*MADE) || !File.file?(File.join(tree, path))

            FileUtils.rm_f(File.join(tree, path)) unless files.include?(path)
          end
        end

        # @return [Child::Result] of a shell script that runs in the system
        def inside(script, *arguments, timeout:)
          env = ENV.to_h.slice(*VARIABLES).merge("PATH" => PATH, "HOME" => "/root", "LANG" => "C.UTF-8",
            "BUNDLE_SILENCE_ROOT_WARNING" => "1")
          env["KAFKA_HOME"] = KAFKA if kafka_home
          Child.run(["unshare", "--mount", "/bin/sh", "-c", INSIDE, "sh", @root, kafka_home.to_s, "/bin/sh", "-c", script, "sh",
            *arguments], timeout: timeout, env: env, unsetenv_others: true)
        end

        def kafka_home
          home = KafkaServer.home
          File.expand_path(home) if home && Dir[File.join(home, "libs/*.jar")].any?
        end

        def sh(*command, log: nil)
          options = log ? {%i[out err] => log} : {}
          return if Child.run(command, timeout: 1_800, **options).success?

          raise Error, ["--chroot: #{command.join(" ")} failed", *(File.readlines(log, chomp: true).last(15) if log)].join("\n")
        end
      end
    end
  end
end
