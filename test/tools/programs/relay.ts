// Compiled by relay-compiler. The directive @connection needs the arguments, `edges` and `pageInfo` of Relay.
import { graphql } from 'relay-runtime';

export const TRAIL = graphql`
  query relayTrailQuery($first: Int!, $after: String, $filter: AuditFilter) {
    audit(first: $first, after: $after, filter: $filter)
      @connection(key: "Trail_audit", filters: ["filter"]) {
      edges {
        node {
          occurredAt
          action
          outcome
          actor {
            identifier
          }
        }
      }
    }
  }
`;
