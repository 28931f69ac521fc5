# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require "rbconfig"

module Penstock
  module TestSupport
    # Builds the tools that a test cluster needs in addition to Kafka's jars: our Java programs and the fault proxy.
    # Both are compiled when they are first needed and kept in tmp/cluster-tools under a digest of their sources;
    # several processes may ask at the same time.
    module ClusterTools
      FOLDER = File.expand_path("../../../tmp/cluster-tools", __dir__)
      JAVA = Dir[File.join(__dir__, "*.java")].sort.freeze
      PROXY = Dir[File.join(__dir__, "proxy/*.{c,h}")].sort.freeze
      # A program that runs as long as a test run needs no second compiler, no server's heap and no threads for its
      # collector.
      JVM = %w[-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto -Xlog:disable -Xlog:all=error:stderr].freeze

      class Error < StandardError; end

      module_function

      # @param home [String, nil] KAFKA_HOME
      # @return [String, nil] why no cluster can be started here
      def obstacle(home)
        return "KAFKA_HOME is not set" unless home
        return "KAFKA_HOME (#{home}) has no libs/*.jar" if Dir[File.join(home, "libs/*.jar")].empty?
        return "no java on the PATH (Java 17 is needed)" unless runs?("java", "-version")

        "no javac on the PATH (a JDK of Java 17 is needed, not only its runtime)" unless runs?("javac", "-version")
      end

      def runs?(*command) = system(*command, out: File::NULL, err: File::NULL)

      # @return [String] a folder with the compiled classes
      def java_classes(home)
        built("java-#{digest(JAVA, home)}") do |folder|
          ["javac", "-d", folder, "-cp", File.join(home, "libs/*"), *JAVA]
        end
      end

      # @return [String] path of the fault proxy
      def proxy
        folder = built("proxy-#{digest(PROXY)}") do |into|
          compiler = RbConfig::CONFIG["CC"].split.first
          [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", File.join(into, "proxy"), *PROXY.grep(/\.c\z/)]
        end
        File.join(folder, "proxy")
      end

      # The archive of a broker's classes for Java: a broker starts in two thirds of the time. Written by a broker that
      # ends in order.
      #
      # @return [String] its path, whether it exists or not
      def archive(home)
        FileUtils.mkdir_p(FOLDER)
        jars = Dir[File.join(home, "libs/*.jar")].sort.map { |path| "#{path} #{File.size(path)}" }
        File.join(FOLDER, "kafka-#{Digest::SHA256.hexdigest([RUBY_PLATFORM, java_version, *jars].join("\n"))[0, 12]}.jsa")
      end

      def java_version = @java_version ||= Open3.capture2e("java", "-version").first

      def digest(sources, *more)
        Digest::SHA256.hexdigest([*sources.map { |path| File.read(path) }, *more].join("\0"))[0, 12]
      end

      def built(name)
        folder = File.join(FOLDER, name)
        return folder if File.directory?(folder)

        FileUtils.mkdir_p(FOLDER)
        File.open(File.join(FOLDER, "lock"), File::RDWR | File::CREAT) do |lock|
          lock.flock(File::LOCK_EX)
          build(folder) { |into| yield into } unless File.directory?(folder)
        end
        folder
      end

      def build(folder)
        made = "#{folder}.#{::Process.pid}"
        FileUtils.mkdir_p(made)
        output, status = Open3.capture2e(*yield(made))
        raise Error, "#{File.basename(folder)} could not be compiled:\n#{output}" unless status.success?

        File.rename(made, folder)
      end
    end
  end
end
