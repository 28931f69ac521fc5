# frozen_string_literal: true

require "test_helper"
require "active_record"
require "minitest/mock"
require "penstock/rails/connection_pools"

# The size itself is tested in a Rails application.
class RailsConnectionPoolsTest < Penstock::TestCase
  Application = Struct.new(:routes, :config)
  Routes = Struct.new(:topics)
  Settings = Struct.new(:concurrency)
  Pool = Struct.new(:size, :db_config)
  Handler = Struct.new(:pools) do
    def connection_pool_list(_role) = pools
  end
  Before = Struct.new(:name, :configuration_hash)
  # Rails 8.1
  After = Class.new(Before) { def max_connections = 0 }

  def hint(type, **written)
    handler = Handler.new([Pool.new(0, type.new("primary", written))])
    ActiveRecord::Base.stub(:connection_handler, handler) do
      Penstock::OnRails::ConnectionPools.too_small(Application.new(Routes.new([]), Settings.new(5))).first.hint
    end
  end

  test "the setting of a pool that is too small is named as this Rails accepts it next to what is written" do
    assert_equal "Set pool: 1, or lower config.concurrency", hint(Before)
    assert_equal "Set max_connections: 1, or lower config.concurrency", hint(After)
    assert_equal "Set max_connections: 1, or lower config.concurrency", hint(After, max_connections: 0)
    assert_equal "Set pool: 1, or lower config.concurrency", hint(After, pool: 0)
    assert_equal "Set max_connections: 1 and remove pool, or lower config.concurrency", hint(After, pool: 0, max_connections: 0)
  end
end
