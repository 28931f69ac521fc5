# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"

module Penstock
  class FaultsTest < TestCase
    LIB = File.expand_path("../../../lib", __dir__)

    # In a process of its own: an installed point stays.
    def faults(specification, code)
      program = "require 'penstock/runtime/faults'; F = Penstock::Runtime::Faults; F.install(#{specification.inspect}); #{code}"
      out, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-e", program)
      [out, status]
    end

    test "without PENSTOCK_FAULTS the file isn't loaded, and no class calls it" do
      Dir[File.join(LIB, "**/*.rb")].each do |path|
        next if path.end_with?("runtime/faults.rb", "lib/penstock/application/preflight.rb")
        refute_match(/\bFaults\b/, File.read(path), path)
      end
    end

    test "a point acts at its nth time: the process is killed or exits, or the thread raises or waits" do
      out, status = faults("before_take=exit@2", "F.at(:before_take); puts 'once'; $stdout.flush; F.at(:before_take)")
      assert_equal ["once\n", 99], [out, status.exitstatus]
      _out, status = faults("before_take=kill", "F.at(:before_take); exit 3")
      assert_equal 9, status.termsig
      out, = faults("before_take=raise", "begin; F.at(:before_take); rescue F::Injected => e; print e.message; end")
      assert_equal "fault injected at before_take by PENSTOCK_FAULTS", out
      clock = "Process.clock_gettime(1)"
      out, = faults("before_take=hold:30", "t = #{clock}; F.at(:before_take); print #{clock} - t >= 0.03")
      assert_equal "true", out
    end

    test "each point is an existing method, and is called as before" do
      every = "before_take=raise@99"
      out, status = faults(every, "F.install(F.points.map { |p| \"\#{p}=raise@99\" }.join(',')); print F.points.size")
      assert status.success?, out
      assert_equal "10", out
    end

    test "all mistakes of a specification are reported at once, with how to fix them" do
      out, = faults("before_comit=kill,after_take=explode,nonsense", "")
      assert_match(/Did you mean before_commit\?/, out)
      assert_match(/there is no action explode/, out)
      assert_match(/"nonsense" isn't point=action/, out)
    end
  end
end
