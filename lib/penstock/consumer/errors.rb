# frozen_string_literal: true

require_relative "../errors"

module Penstock
  # A consumer's transaction was begun inside of another one.
  class TransactionAlreadyInitializedError < StandardError
    include Error
  end

  # The records of a transaction are no longer ours: their partition was taken away or sought, or the group was just given
  # out anew. The transaction is aborted. It is no failure of a record: whoever has the partition runs it again.
  class AssignmentLostError < StandardError
    include Error
  end

  # A consumer's transaction could not take its partition's offset along, for a reason that isn't one of its records': another
  # one, or a commit, didn't come to its end in time, or the broker takes less metadata with an offset. It is aborted; its
  # records run again, and that counts as no attempt.
  class TransactionDeferredError < StandardError
    include Error
  end

  # With manual offsets a record was marked outside of a transaction, of a partition whose records were marked in transactions
  # before: the mark would be committed without what the other records have in common with theirs.
  class NonTransactionalMarkingAttemptError < StandardError
    include Error
  end
end
