@rem On Windows npm takes this file for scripts/node. The Node that npm ci installs starts on every Windows that it is made for.
@node %*
