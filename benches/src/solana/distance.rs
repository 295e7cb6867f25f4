//! A node that is farther away than this machine, as those of the public networks are.

use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a node of the same region takes longer to answer. Public ones take 20 to 100 ms.
pub(crate) const DELAY: Duration = Duration::from_millis(20);

/// Passes connections on to the node, with every answer so much later. Returns its port.
pub(crate) async fn delayed(node: u16, delay: Duration) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(relay(client, node, delay));
        }
    });
    Ok(port)
}

async fn relay(client: TcpStream, node: u16, delay: Duration) -> Result<()> {
    let node = TcpStream::connect(("127.0.0.1", node)).await?;
    client.set_nodelay(true)?;
    node.set_nodelay(true)?;
    let (mut questions, mut back) = client.into_split();
    let (mut answers, mut on) = node.into_split();
    let asking = async { anyhow::Ok(tokio::io::copy(&mut questions, &mut on).await.map(drop)?) };
    // A client waits for each answer before it asks again, so answers do not have to overtake each other's delays.
    let answering = async {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let read = answers.read(&mut bytes).await?;
            if read == 0 {
                return anyhow::Ok(());
            }
            tokio::time::sleep(delay).await;
            back.write_all(&bytes[..read]).await?;
        }
    };
    // Whichever side ends the connection ends it for both.
    tokio::select! {
        ended = asking => ended,
        ended = answering => ended,
    }
}
