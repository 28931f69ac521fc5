# frozen_string_literal: true

require "test_helper"
require "open3"
require "rake"
require "yaml"
require "penstock/cli"
require "penstock/cli/registry"
require "penstock/cli/commands"
require "penstock/cli/doctor/deployment"
require "penstock/config/builder"
require "support/command_line"

module Penstock
  # The files of examples/deploy do what docs/deployment.md promises, as far as that can be checked on a machine without
  # systemd, Docker and Kubernetes.
  class DeploymentTest < TestCase
    include TestSupport::CommandLine

    FOLDER = File.join(TestSupport::CommandLine::ROOT, "examples/deploy")
    UNITS = Dir[File.join(FOLDER, "systemd/*.service")].sort.freeze
    MANIFEST = File.join(FOLDER, "kubernetes/deployment.yaml")
    PAGE = File.join(TestSupport::CommandLine::ROOT, "docs/deployment.md")

    def text(name) = File.read(File.join(FOLDER, name))
    def settings = Config::Builder.new.settings
    def grace_s = settings.shutdown_timeout / 1_000 + 15

    # @return [Hash{String => Array<String>}] lines of the service's section
    def unit(path)
      rows = File.read(path)[/^\[Service\]\n(.*?)^\[/m, 1].scan(/^(\w+)=(.*)$/)
      rows.group_by(&:first).transform_values { |pairs| pairs.map(&:last) }
    end

    def documents = YAML.load_stream(File.read(MANIFEST))
    def deployment = documents.find { |one| one["kind"] == "Deployment" }
    def pod = deployment.dig("spec", "template", "spec")
    def container = pod["containers"].first

    # A command line of ours, after the part that starts Ruby.
    def assert_command(words)
      words = words.drop(words.index("penstock") + 1)
      command, rest = CLI::Registry.shared.resolve(words)

      assert_includes %w[server swarm], command.command_name
      options = command.new(CLI::Context.system).send(:build_parser)
      assert_empty options.parse(rest)
    end

    test "each unit is valid for systemd" do
      skip "systemd-analyze isn't here" unless system("systemd-analyze", "--version", out: File::NULL, err: File::NULL)
      UNITS.each do |path|
        output, status = Open3.capture2e("systemd-analyze", "verify", "--man=no", path)

        assert_predicate status, :success?, output
        refute_match(File.basename(path), output)
      end
    end

    test "units notify and have a watchdog, allow time for a stop, and restart after every failure that a restart may solve" do
      refute_empty UNITS
      UNITS.each do |path|
        unit = unit(path)

        assert_equal [["notify"], ["main"], ["mixed"], ["always"], ["1"]],
          unit.values_at("Type", "NotifyAccess", "KillMode", "Restart", "RestartPreventExitStatus"), path
        assert_equal [grace_s.to_s], unit["TimeoutStopSec"], path
        assert unit["WatchdogSec"], path
        assert_command(unit["ExecStart"].first.split)
      end
    end

    test "a pod has shutdown_timeout + 15 s, no preStop, and probes of progress and membership, never of lag" do
      assert_equal grace_s, pod["terminationGracePeriodSeconds"]
      assert_nil container["lifecycle"]
      assert_equal %w[/live /live /ready],
        %w[startupProbe livenessProbe readinessProbe].map { |kind| container.dig(kind, "httpGet", "path") }
      assert_equal container["ports"].first["containerPort"].to_s,
        container["env"].find { |one| one["name"] == "HEALTH_PORT" }["value"]
      assert_equal "0.0.0.0", container["env"].find { |one| one["name"] == "HEALTH_HOST" }["value"], "kubelet asks from outside"
      assert_command(container["args"])
    end

    test "an update removes a pod before it adds one, and machines are emptied one pod at a time" do
      assert_equal({"type" => "RollingUpdate", "rollingUpdate" => {"maxSurge" => 0, "maxUnavailable" => 1}},
        deployment.dig("spec", "strategy"))
      labels = deployment.dig("spec", "template", "metadata", "labels")
      budget = documents.find { |one| one["kind"] == "PodDisruptionBudget" }["spec"]

      assert_equal [1, labels, labels],
        [budget["maxUnavailable"], budget.dig("selector", "matchLabels"), deployment.dig("spec", "selector", "matchLabels")]
    end

    test "the image has two stages, the build's packages in the first, a user without rights, and a command that gets signals" do
      build, run = text("Dockerfile").split(/^FROM /).drop(1)
      needed = File.read(File.join(ROOT, "docs/building.md")).scan(/^\| .*? \| `([^|]+)` \| `[^|]+` \|/).flatten.join(" ").split

      assert_empty needed - ["ruby-dev"] - build.split, "docs/building.md asks for more"
      refute_match(/build-essential|-dev\b/, run)
      assert_equal %w[10001:10001], run.scan(/^USER (.*)/).flatten
      assert_equal pod.dig("securityContext", "runAsUser").to_s, run[/^USER (\d+)/, 1]
      assert_operator run.index("\nUSER"), :<, run.index("\nCMD")
      assert_command(JSON.parse(run[/^CMD (.*)/, 1]))
      refute_match(/^(?:ADD|ENTRYPOINT|HEALTHCHECK)/, run)
    end

    test "the Procfile starts a server" do
      assert_command(text("Procfile")[/\Aworker: (.*)$/, 1].split)
    end

    test "penstock doctor has no finding for any of them, and findings if the application takes longer" do
      files = [*UNITS, MANIFEST, *%w[Dockerfile Procfile].map { |name| File.join(FOLDER, name) }]
      result = penstock("doctor", "--bootstrap", "127.0.0.1:1", "--json", "--deploy", files.join(","))
      steps = JSON.parse(result.out).select { |step| step["name"].start_with?(FOLDER) }
      assert_equal [0, 5, %w[ok skipped]], [result.code, steps.size, steps.map { |step| step["state"] }.uniq.sort], result.out

      write("penstock.rb", <<~RUBY)
        require "penstock"
        class PenstockApp < Penstock::App
          setup { |config| (config.kafka = {"bootstrap.servers": "127.0.0.1:1"}) && config.shutdown_timeout = 61_000 }
          routes.draw { topic(:orders) { consumer Class.new(Penstock::BaseConsumer) { def consume = nil } } }
        end
      RUBY
      result = penstock("doctor", "--deploy", "#{UNITS.first},#{MANIFEST}")
      assert_equal 1, result.code
      assert_match(/TimeoutStopSec is 75 s: shorter than shutdown_timeout \(61 s\) \+ 15 s.*write TimeoutStopSec=76/m, result.out)
      assert_match(/write terminationGracePeriodSeconds: 76/, result.out)
    end

    # The part of Capistrano that the tasks use.
    class Hosts
      include Rake::DSL

      attr_reader :done

      def initialize
        @set = {penstock_unit: nil}
        @done = []
      end

      def set(name, value) = @set[name] = value
      def fetch(name) = @set.fetch(name)
      def roles(name) = %W[#{name}1 #{name}2]
      def after(task, other) = (@done << [:after, task, other])
      def release_path = "release"
      def current_path = "current"
      def within(path) = (@done << [:within, path]) && yield
      def with(env) = (@done << [:with, env]) && yield
      def execute(*words) = @done << words.map(&:to_s)
      def capture(*words) = execute(*words) && "status"
      def puts(_text) = nil

      def on(hosts, **options)
        @done << [:in, options[:in]]
        hosts.each { |_host| yield }
      end

      # The test runs the block that the file passes.
      def load_file(path) = instance_eval(File.read(path), path)
    end

    test "Capistrano's tasks check the release before it becomes current, and restart one host after another" do
      hosts = Hosts.new
      Rake.with_application do |rake|
        hosts.load_file(File.join(FOLDER, "capistrano.rake"))
        %w[load:defaults penstock:check penstock:restart penstock:status].each { |name| rake[name].invoke }
      end

      assert_includes hosts.done, [:after, "deploy:published", "penstock:restart"]
      assert_includes hosts.done, [:after, "deploy:updated", "penstock:check"]
      assert_includes hosts.done, [:in, :sequence]
      assert_equal 2, hosts.done.count(%w[sudo systemctl restart penstock-server])
      hosts.done.select { |words| words.include?("penstock") }.each do |words|
        command, = CLI::Registry.shared.resolve(words.drop(words.index("penstock") + 1))
        assert_includes %w[doctor status], command.command_name
      end
    end

    test "Kamal's file has a role that runs penstock, and time enough for its stop" do
      roles = YAML.safe_load(text("kamal/deploy.yml"))["servers"]
      assert_command(roles.dig("consumers", "cmd").sub("bin/", "").split)
      refute roles["consumers"].key?("proxy")
      steps = CLI::Doctor::Deployment.new(["kamal/deploy.yml"], dir: FOLDER, shutdown_timeout_ms: settings.shutdown_timeout).steps

      assert_equal [[:ok, true]], steps.map { |step| [step.state, step.name.end_with?("consumers")] }
    end

    test "the parts of these files that docs/deployment.md shows are literally in them, and the page links to each" do
      page = File.read(PAGE)
      files = Dir[File.join(FOLDER, "**/*")].select { |path| File.file?(path) }
      parts = page.scan(/^```(?:ini|yaml|dockerfile)\n(.*?)^```/m).flatten

      assert_operator parts.size, :>=, 5
      parts.each { |part| assert files.any? { |path| holds?(File.read(path), part) }, part }
      files.each { |path| assert_includes page, "(../examples/deploy/#{path.delete_prefix("#{FOLDER}/")})" }
    end

    # All its lines in this order, with any other lines between them.
    def holds?(whole, part)
      lines = whole.lines.map(&:strip)
      part.lines.map(&:strip).all? { |line| lines.shift(lines.index(line).to_i + 1).last == line }
    end
  end
end
