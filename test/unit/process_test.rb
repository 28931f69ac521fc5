# frozen_string_literal: true

require "test_helper"
require "penstock"

class PenstockProcessTest < Penstock::TestCase
  def teardown = Penstock::Process.tags.clear

  test "a process has tags, which its vitals show" do
    application = Penstock::Application.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
    refute_includes application.vitals, :tags
    Penstock::Process.tags.add(:rack, "r7")
    Penstock::Process.tags.add(:rack, "r8")

    assert_equal %w[r8], application.vitals[:tags]
    Penstock::Process.tags.delete(:rack)
    assert_empty Penstock::Process.tags.to_a
  end

  test "otherwise it is Ruby's Process, for code inside the module" do
    assert_equal Process.pid, Penstock::Process.pid
    assert_same Process::Status, Penstock::Process::Status
    assert_respond_to Penstock::Process, :clock_gettime
    assert_raises(NoMethodError) { Penstock::Process.nothing }
  end
end
