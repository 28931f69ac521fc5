# frozen_string_literal: true

require "test_helper"

class OrdersControllerTest < ActionDispatch::IntegrationTest
  test "an order placed as JSON is on the page, not charged yet" do
    post orders_path(format: :json), params: {order: {customer: "ada", total: 1200}}, as: :json
    assert_response :created
    get root_path

    assert_select "td", "ada"
    assert_select "td", "$12.00"
    assert_select "td", {text: "not yet", count: 2}
  end

  test "an order placed by the form leads back to the page, as does a refused one, with the reason" do
    post orders_path, params: {order: {customer: "ada", total: 1200}}
    assert_redirected_to root_path
    post orders_path, params: {order: {customer: "ada", total: 0}}
    follow_redirect!

    assert_select "[role=alert]", "Total must be greater than 0"
    assert_equal 1, Order.count
  end

  test "a refused order is answered with its errors" do
    post orders_path(format: :json), params: {order: {customer: "", total: 5}}, as: :json

    assert_response :unprocessable_content
    assert_equal({"customer" => ["can't be blank"]}, response.parsed_body)
  end
end
