# frozen_string_literal: true

# All that happened in the shop.
class History
  def orders = Order.includes(:payment, :receipt).order(:id)
  def events = Event.order(:id)
  def jobs = JobRun.order(:id)
  def mails = SentMail.order(:id)

  # @return [Integer] messages and jobs that are still to be sent
  def waiting = Penstock::Outbox.lag.pending

  # @return [Hash{Symbol => Integer}] sums in cents
  def totals = {ordered: Order.sum(:total), paid: Payment.sum(:amount), mailed: Receipt.joins(:order).sum("orders.total")}

  def as_json(*)
    {orders: orders, payments: Payment.order(:id), events: events, jobs: jobs, mails: mails, totals: totals, waiting: waiting}
      .as_json
  end
end
