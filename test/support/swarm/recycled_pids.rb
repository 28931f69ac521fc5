# frozen_string_literal: true

# Process 1 of a pid namespace, where a number that is free again can be given out on order. Prints the signals that
# arrived at the innocent process that got it: "KIND: sent [whether each was], received [names], alive". ARGV: the plan
# of a swarm as JSON (see program.rb).

require "json"
require "rbconfig"
require "tmpdir"
require "penstock/native/child"
require "penstock/swarm/node_handle"
require_relative "../wait"

module RecycledPids
  extend Penstock::TestSupport::Wait

  CAUGHT = %w[TERM INT QUIT HUP USR1 USR2 TSTP TTIN CONT WINCH].freeze

  # A process with a certain number that records each signal it gets. It is no child of the tested process: its parent
  # is a process in between.
  class Innocent
    include Penstock::TestSupport::Wait

    # @param pid [Integer] free by now
    def initialize(pid)
      @received = File.join(Dir.mktmpdir, "received")
      @parent = fork { exit!(spawn(pid)) }
      wait_until(20, "process #{pid}") { File.exist?(@received) }
    end

    # @return [String] the signals it has received so far
    def words
      Process.kill(:WINCH, @parent) # passed on after everything that was sent before
      wait_until(20, "the last signal, or the end") { received.include?("WINCH") || ended? }
      "received #{received - ["WINCH"]}, #{ended? ? "dead" : "alive"}"
    end

    def finish
      Process.kill(:TERM, @parent)
      Process.wait(@parent)
    end

    private

    def received = File.readlines(@received, chomp: true)

    def ended? = File.exist?("#{@received}.ended")

    def spawn(pid)
      child = nil
      Signal.trap("WINCH") { Process.kill(:WINCH, pid) } # reaches the child only once it has the pid
      Signal.trap("TERM") { exit!(0) }
      20.times do
        File.write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_s)
        child = fork { live if Process.pid == pid }
        break if child == pid
        Process.kill(:KILL, child)
        Process.wait(child)
      end
      child == pid or abort("pid #{pid} couldn't be had again")
      Process.wait(child)
      File.write("#{@received}.ended", "")
      sleep
    end

    # Ends with its parent, which it polls.
    def live
      parent = Process.ppid
      CAUGHT.each { |name| Signal.trap(name) { File.write(@received, "#{name}\n", mode: "a") } }
      File.write("#{@received}.new", "")
      File.rename("#{@received}.new", @received)
      sleep(0.05) while Process.ppid == parent
    end
  end

  module_function

  def tell(kind, innocent, sent)
    puts "#{kind}: sent #{sent}, #{innocent.words}"
    innocent.finish
  end

  # A node's handle that outlives its process, which it or another caller has waited for.
  def handle(kind, waited_by)
    reader, writer = IO.pipe
    pid = fork { sleep }
    handle = Penstock::Swarm::NodeHandle.new(0, pid, reader)
    handle.signal(:KILL)
    (waited_by == :handle) ? wait_until(20, "its end") { handle.ended } : Process.wait(pid)
    innocent = Innocent.new(pid)
    tell("#{kind}, waited for by #{waited_by}", innocent, %w[TERM USR1 TSTP TTIN KILL].map { |name| handle.signal(name) })
  ensure
    [reader, writer].each(&:close)
    handle.close
  end

  # A whole swarm: the number of a node that died belongs to another process by the time the supervisor passes signals
  # on.
  def swarm(kind, plan)
    log = File.join(Dir.mktmpdir, "log")
    plan = JSON.generate({**plan, journal: File.join(File.dirname(log), "journal")})
    input, cord = IO.pipe
    pid = Process.spawn({"PENSTOCK_SWARM_TEST" => plan}, RbConfig.ruby, *$LOAD_PATH.first(6).map { |path| "-I#{path}" },
      File.join(__dir__, "program.rb"), :in => input, :pgroup => true, %i[out err] => [log, "a"])
    await = lambda do |pattern, times|
      wait_until(40, pattern.inspect, state: -> { File.read(log) }) { File.read(log).scan(pattern).size >= times }
    end
    await.call(/ running \(pid/, 2)
    dead = Integer(File.read(log)[/node 0: forked \(pid (\d+)\)/, 1])
    Process.kill(:KILL, dead)
    await.call(/ running \(pid/, 3)
    innocent = still(pid) { Innocent.new(dead) }
    Process.kill(:TTIN, pid)
    await.call(/main \(/, 3)
    Process.kill(:USR2, pid)
    await.call(/ running \(pid/, 5)
    Process.kill(:TERM, pid)
    code = Process.wait2(pid).last.exitstatus
    tell("#{kind}, a swarm that ended with #{code}", innocent, [])
  ensure
    [input, cord].each(&:close)
  end

  # Threads take numbers too: meanwhile the threads of a group must not create any.
  def still(group)
    Process.kill(:STOP, -group)
    wait_until(20, "a group that is stopped") { states(group).all?("T") }
    yield
  ensure
    Process.kill(:CONT, -group)
  end

  # @return [Array<String>] states of the group's processes
  def states(group)
    Dir.glob("/proc/[0-9]*/stat").filter_map do |path|
      state, _parent, of = File.read(path)[/\) (.*)/, 1].split
      state if Integer(of) == group
    rescue SystemCallError
      nil
    end
  end
end

plan = JSON.parse(ARGV.fetch(0), symbolize_names: true)
{"with pidfds" => nil, "without pidfds" => "1"}.each do |kind, switch|
  ENV["PENSTOCK_NO_PIDFD"] = switch
  %i[handle somebody].each { |waited_by| RecycledPids.handle(kind, waited_by) }
  RecycledPids.swarm(kind, plan)
end
