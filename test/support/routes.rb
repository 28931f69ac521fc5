# frozen_string_literal: true

require "penstock/config/builder"
require "penstock/config/validator"
require "penstock/routing/builder"

# Makes settings and routes as an application does, without having one.
module RoutesSupport
  class Consumer
    attr_writer :penstock_context

    def consume = nil
  end

  class OtherConsumer < Consumer
  end

  KAFKA = {"bootstrap.servers": "127.0.0.1:9092"}.freeze

  def settings(environment: "test", kafka: KAFKA, &block)
    builder = Penstock::Config::Builder.new(environment: Penstock::Config::Environment.new(environment))
    builder.record { |config| config.kafka = kafka }
    builder.record(&block) if block
    builder.settings
  end

  def routes(with = settings, &block)
    Penstock::Routing::Builder.new.draw(&block).routes(with)
  end

  # All problems of settings and routes, each as a String.
  def problems(with = settings, &block)
    drawn = block ? routes(with, &block) : nil
    Penstock::Config::Validator.problems(with, drawn, hostname: "shop-0").map { |problem| plain(problem.to_s) }
  end

  # Without file and line.
  def plain(text) = text.gsub(/ \([\w.]+:\d+\)/, "")
end
