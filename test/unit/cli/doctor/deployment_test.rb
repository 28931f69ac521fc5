# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock/cli/doctor/deployment"

module Penstock
  class DoctorDeploymentTest < TestCase
    Grace = CLI::Doctor::Deployment::Grace

    # @return [Array<Array>] state, detail and hint of each step
    def look(name, text, timeout_ms: 60_000, host: nil)
      Dir.mktmpdir do |dir|
        File.write(File.join(dir, name), text) if text
        steps = CLI::Doctor::Deployment.new([name], dir: dir, shutdown_timeout_ms: timeout_ms, health_host: host).steps
        steps.map { |step| [step.state, [step.name, step.detail].join(" "), step.hint.to_s] }
      end
    end

    def states(...) = look(...).map(&:first)

    def pod(rest = {}, container: {})
      spec = {"containers" => [{"name" => "shop", "args" => ["penstock", "server"], **container}], **rest}
      {"kind" => "Deployment", "metadata" => {"name" => "shop"}, "spec" => {"template" => {"spec" => spec}}}
    end

    def yaml(*documents)
      require "yaml"
      documents.map { |one| YAML.dump(one) }.join
    end

    test "times are parsed as systemd and Compose write them" do
      assert_equal [75, 75, 75, 75, 90, 0.5, 3_600, Float::INFINITY],
        ["75", "75s", "1min 15s", "1m15s", "90 sec", "500ms", "1h", "infinity"].map { |text| Grace.parse(text) }
      assert_equal [nil] * 4, ["", "soon", "5 parsecs", "-3"].map { |text| Grace.parse(text) }
    end

    test "a unit needs shutdown_timeout + 15 s; otherwise its value and the needed one are reported" do
      assert_equal [:ok], states("a.service", "[Service]\nTimeoutStopSec=75\n")
      state, detail, hint = look("a.service", "[Unit]\n[Service]\nTimeoutStopSec=90\nTimeoutStopSec=1min 14s\n").first

      assert_equal :failed, state
      assert_match(/a\.service TimeoutStopSec is 74 s: shorter than shutdown_timeout \(60 s\) \+ 15 s/, detail)
      assert_equal "write TimeoutStopSec=75", hint
    end

    test "a unit without the setting has systemd's 90 s; 0 and infinity mean no limit; lines of other sections are ignored" do
      assert_equal [[:ok], [:failed], [:ok], [:ok], [:ok], [:failed]], [
        ["[Service]", 75_000], ["[Service]", 75_001], ["[Service]\nTimeoutStopSec=0", 10**7],
        ["[Service]\nTimeoutSec=infinity", 10**7], ["[X]\nTimeoutStopSec=1\n[Service]\n", 60_000],
        ["[Service]\nTimeoutStopSec=long", 60_000]
      ].map { |text, timeout_ms| states("a.service", text, timeout_ms: timeout_ms) }
    end

    test "a unit whose signal kills, or with a watchdog but without Type=notify, is reported" do
      assert_equal %i[ok failed warning], states("a.service", "[Service]\nKillSignal=SIGKILL\nWatchdogSec=30\n")
      assert_equal %i[ok], states("a.service", "[Service]\nType=notify\nWatchdogSec=30\n")
    end

    test "pods are found anywhere in a document; without a grace period they have 30 s" do
      _state, detail, hint = look("k.yaml", yaml({"kind" => "Service", "metadata" => {"name" => "x"}}, pod)).first

      assert_match(/k\.yaml: Deployment shop terminationGracePeriodSeconds isn't set, so 30 s: shorter/, detail)
      assert_equal "write terminationGracePeriodSeconds: 75", hint
      assert_equal %i[ok], states("k.yaml", yaml({"kind" => "List", "items" => [pod({"terminationGracePeriodSeconds" => 75})]}))
      assert_equal %i[failed], states("k.yml", yaml(pod({"terminationGracePeriodSeconds" => "long"})))
      assert_equal %i[ok], states("k.yml", yaml(pod), timeout_ms: 15_000)
    end

    test "pods and services that don't run penstock are ignored" do
      web = pod({"containers" => [{"name" => "web", "args" => ["puma"]}]})
      assert_equal %i[ok], states("k.yaml", yaml(web, pod({"terminationGracePeriodSeconds" => 80})))
      assert_equal %i[failed], states("k.yaml", yaml(web))
      services = {"db" => {"image" => "x"}, "shop" => {"command" => "penstock server", "stop_grace_period" => "1m15s"}}
      assert_equal %i[ok], states("compose.yaml", yaml({"services" => services}))
    end

    test "preStop, and probes of other paths, give a warning" do
      probes = {"livenessProbe" => {"httpGet" => {"path" => "/ready"}}, "readinessProbe" => {"httpGet" => {"path" => "/ready"}}}
      text = yaml(pod({"terminationGracePeriodSeconds" => 75}, container: {"lifecycle" => {"preStop" => {}}, **probes}))
      found = look("k.yaml", yaml(pod({"terminationGracePeriodSeconds" => 75},
        container: {"lifecycle" => {"preStop" => {"exec" => {}}}, **probes})))

      assert_equal %i[ok warning], states("k.yaml", text.sub("preStop", "postStart"))
      assert_equal %i[ok warning warning], found.map(&:first)
      assert_match(%r{preStop of shop.*livenessProbe of shop asks /ready}m, found.map { |step| step[1] }.join)
    end

    test "the path / is fine for liveness, where the page answers like /live, and not for readiness" do
      probes = %w[livenessProbe readinessProbe].to_h { |kind| [kind, {"httpGet" => {"path" => "/"}}] }
      found = look("k.yaml", yaml(pod({"terminationGracePeriodSeconds" => 75}, container: probes)))

      assert_match(%r{\Areadi}, found.map { |step| step[1] }.join[/(live|readi)nessProbe.*/])
    end

    test "probes from outside of the pod give a warning if the health page listens on loopback, unless a container sets it" do
      probe = {"livenessProbe" => {"httpGet" => {"path" => "/live", "port" => 3000}}}
      text = ->(container) { yaml(pod({"terminationGracePeriodSeconds" => 75}, container: {**probe, **container})) }
      pod_ip = {"name" => "A", "valueFrom" => {"fieldRef" => {"fieldPath" => "status.podIP"}}}

      assert_equal [%i[ok warning]] * 2, ["127.0.0.1", "::1"].map { |host| states("k.yaml", text.call({}), host: host) }
      assert_equal [%i[ok]] * 3, ["0.0.0.0", "10.0.0.7", nil].map { |host| states("k.yaml", text.call({}), host: host) }
      [[{"name" => "A", "value" => "0.0.0.0"}], [pod_ip]].each do |env|
        assert_equal %i[ok], states("k.yaml", text.call({"env" => env}), host: "127.0.0.1")
      end
      own = {"livenessProbe" => {"exec" => {"command" => %w[penstock status]}}}
      assert_equal %i[ok], states("k.yaml", text.call(own), host: "127.0.0.1")
      assert_match(/probes of shop come from outside.*127\.0\.0\.1/, look("k.yaml", text.call({}), host: "127.0.0.1").last[1])
    end

    test "a Compose service has 10 s unless it sets more" do
      text = ->(rest) { yaml({"services" => {"shop" => {"command" => %w[penstock server], **rest}}}) }

      assert_equal %i[failed], states("compose.yml", text.call({}))
      assert_equal %i[ok], states("compose.yml", text.call({"stop_grace_period" => "75s"}))
      assert_equal %i[failed], states("compose.yml", text.call({"stop_grace_period" => "long"}))
    end

    test "a Dockerfile must start a list and use a stop signal that stops the server" do
      assert_equal %i[ok], states("Dockerfile", "CMD echo\nENTRYPOINT [\"penstock\", \\\n \"server\"]\n")
      assert_equal %i[failed failed], states("Dockerfile.worker", "CMD penstock server\nSTOPSIGNAL SIGKILL\n")
      assert_equal %i[skipped], states("Dockerfile", "FROM x\n")
    end

    test "files without settings, unreadable files and unknown kinds are reported" do
      assert_match(/foreman: `--timeout 75`/, look("Procfile", "worker: penstock server\n").first[1])
      assert_equal [[:failed], [:failed], [:failed], [:skipped]],
        [["a.service", nil], ["a.toml", ""], ["k.yaml", "{{ .Values }: [\n"], ["k.yaml", "a: 1\n"]].map { |pair| states(*pair) }
    end

    test "a role of Kamal that runs penstock needs a drain_timeout, whose default is too short; other roles don't count" do
      kamal = lambda do |**rest|
        servers = {"web" => ["192.0.2.1"], "consumers" => {"hosts" => ["192.0.2.2"], "cmd" => "bin/penstock server"}}
        yaml({"service" => "shop", "image" => "shop", "servers" => servers, **rest.transform_keys(&:to_s)})
      end
      state, detail, hint = look("deploy.yml", kamal.call).first

      assert_equal [:failed, 1], [state, look("deploy.yml", kamal.call).size]
      assert_includes detail, "consumers drain_timeout isn't set, so 30 s"
      assert_includes hint, "drain_timeout: 75"
      assert_equal %i[ok], states("deploy.yml", kamal.call(drain_timeout: 75))
      assert_equal %i[failed], states("deploy.yml", kamal.call(drain_timeout: 74))
    end
  end
end
