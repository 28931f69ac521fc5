# frozen_string_literal: true

require "json"
require "net/http"

module RailsShop
  # Uses the shop over HTTP. Stateless.
  class Client
    # @param port [Integer]
    def initialize(port)
      @port = port
    end

    # @return [Boolean] whether the web server answers
    def open?
      get("/up").is_a?(Net::HTTPOK)
    rescue SystemCallError, IOError, Timeout::Error
      false
    end

    # @return [Hash] the order
    # @raise [Failed] it was refused
    def place(customer:, total:)
      answer = http { |shop| shop.post("/orders.json", JSON.generate(order: {customer: customer, total: total}), headers) }
      raise Failed, "an order was refused: #{answer.code} #{answer.body[0, 500]}" unless answer.is_a?(Net::HTTPCreated)
      JSON.parse(answer.body)
    end

    # @return [Hash] what happened
    def history = JSON.parse(body("/history.json"))

    # @return [String] the same as HTML
    def page = body("/")

    private

    # With the last one errors are answered as text.
    def headers = {"Content-Type" => "application/json", "X-Requested-With" => "XMLHttpRequest"}

    def body(path)
      answer = get(path)
      raise Failed, "#{path} answers #{answer.code}: #{answer.body[0, 500]}" unless answer.is_a?(Net::HTTPOK)
      answer.body
    end

    def get(path) = http { |shop| shop.get(path) }

    def http(&request) = Net::HTTP.start("127.0.0.1", @port, nil, read_timeout: 60, &request)
  end
end
